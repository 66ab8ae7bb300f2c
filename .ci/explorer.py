"""Uses explorer pages in headless Chromium through chromedriver: explorer.py FOLDER [--pictures FOLDER].

Every page must load in time, ask for nothing outside of its file, play to the end, find a node by search, show the numbers that Rust
computed, and leave no error on the console. Only the standard library is needed.
"""

import argparse
import base64
import json
import math
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

MOST_BYTES = 5_000_000
MOST_MILLISECONDS = 2_000
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--window-size=1440,900", "--force-color-profile=srgb"]
ENTER, ESCAPE, DOWN, UP = "\ue007", "\ue00c", "\ue015", "\ue013"


class Driver:
    """A browser that chromedriver steers, by the W3C WebDriver protocol."""

    def __init__(self, profile):
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        port = next(match.group(1) for line in self.process.stdout if (match := re.search(r"started successfully on port (\d+)", line)))
        self.root = f"http://127.0.0.1:{port}/session"
        browser = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])))
        options = {"args": [*FLAGS, f"--user-data-dir={profile}"], "binary": browser}
        logs = {"browser": "ALL", "performance": "ALL"}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs}
        session = self.call("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self.root += "/" + session["sessionId"]

    def call(self, method, path, body=None):
        text = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.root + path, text, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def keys(self, text):
        actions = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def logs(self, kind):
        return self.call("POST", "/se/log", {"type": kind})

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def wait(self, what, script, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(script):
                return
            time.sleep(0.05)
        raise AssertionError(f"{what}: not within {seconds} seconds")

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait(10)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def open_page(driver, path):
    """Opens a page, and returns how long it took until it could be used."""
    check(path.stat().st_size < MOST_BYTES, f"{path.stat().st_size} bytes")
    driver.logs("browser")
    driver.logs("performance")
    driver.call("POST", "/url", {"url": path.resolve().as_uri()})
    driver.wait("the page is ready", "return Boolean(document.documentElement.dataset.ready)")
    milliseconds = int(driver.run("return document.documentElement.dataset.ready"))
    check(milliseconds < MOST_MILLISECONDS, f"ready after {milliseconds} ms")
    return milliseconds


def stays_on_page(driver, path):
    """No request but the one for the page, and nothing on the console."""
    own = path.resolve().as_uri()
    for entry in driver.logs("performance"):
        message = json.loads(entry["message"])["message"]
        # The browser's own start page makes requests of its own.
        if message["method"] == "Network.requestWillBeSent" and message["params"]["documentURL"].startswith("file:"):
            url = message["params"]["request"]["url"]
            check(url == own or url.startswith("data:"), f"a request for {url}")
    check(driver.run("return performance.getEntriesByType('resource').length") == 0, "resources were loaded")
    faults = [entry["message"] for entry in driver.logs("browser") if entry["level"] in ("SEVERE", "WARNING")]
    check(not faults, f"on the console: {faults}")


def moment(driver):
    return driver.run("return document.getElementById('moment').textContent")


def plays_to_the_end(driver, phases):
    driver.run("""window.seen = [];
        const moment = document.getElementById('moment');
        new MutationObserver(() => seen.push(moment.textContent)).observe(moment, { childList: true });
        document.getElementById('speed').value = '16';
        document.getElementById('graph').focus()""")
    driver.keys(" ")
    driver.wait("it plays to the end", "const time = document.getElementById('time'); return seen.length > 1 && time.value == time.max")
    seen = driver.run("return seen")
    check(all(any(text.startswith(phase) for text in seen) for phase in phases), f"{phases} are not all in {seen[:3]} .. {seen[-3:]}")
    check(moment(driver).startswith("End"), moment(driver))
    check(driver.run("return document.getElementById('play').getAttribute('aria-label')") == "Play", "it does not stop")


def finds(driver, text):
    """Searches by keys, and returns the heading of the card that opens."""
    driver.keys("/")
    driver.keys(text + ENTER)
    return driver.run("return document.querySelector('#card.node h2')?.textContent ?? ''")


def numbers_of(driver, section):
    """The numbers under a heading of the card, with all their digits."""
    return driver.run("""
        const [name] = arguments, found = {};
        const section = [...document.querySelectorAll('#card section')].find((one) => one.querySelector('h3').textContent == name);
        for (const item of section?.querySelectorAll('[data-value]') ?? []) found[item.dataset.value] = item.title || item.textContent;
        return found""", section)


def agrees(shown, expected):
    """Whether the numbers of a card are those that were computed: f32 in another order of operations differs in the last digits."""
    for name, value in expected.items():
        values = value if isinstance(value, list) else [value]
        texts = [float(text) for text in re.findall(r"-?[\d.]+(?:e[-+]?\d+)?", shown.get(name, ""))]
        close = len(texts) == len(values) and all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(texts, values))
        check(close, f"{name}: the page shows {shown}, computed {value}")


def test_page(driver, folder, page, pictures):
    path = folder / f"{page['name']}.html"
    milliseconds = open_page(driver, path)
    check(f"End · {page['nodes']:,} node" in moment(driver), moment(driver))
    if pictures:
        driver.picture(pictures / f"{page['name']}.png")
    plays_to_the_end(driver, ["Forward", "Derivative"] if page["section"] == "Value" else ["Forward", "Reverse"])
    heading = finds(driver, page["search"])
    check(page["search"] in heading or page["search"] in driver.run("return document.getElementById('card').textContent"), f"found '{heading}'")
    if page["numbers"]:
        agrees(numbers_of(driver, page["section"]), page["numbers"])
    if pictures:
        time.sleep(0.4)
        driver.picture(pictures / f"{page['name']}_card.png")
    driver.keys(ESCAPE)
    check(driver.run("return document.querySelector('#card.node') == null"), "Escape closes the card")
    EXTRA.get(page["name"], lambda driver: None)(driver)
    stays_on_page(driver, path)
    print(f"  {page['name']:10} {path.stat().st_size / 1e3:8.0f} kB  ready after {milliseconds:4} ms  {page['nodes']:6} nodes")


def classic(driver):
    """Adjoints grow as contributions arrive; arrows move along edges; the theme changes."""
    finds(driver, "x1")
    slider = "const time = document.getElementById('time'); time.value = arguments[0]; time.dispatchEvent(new Event('input'));"
    card = "return document.getElementById('card').textContent"
    text = driver.run(slider + card, 5)
    check("0 of 2 contributions" in text, text)
    # v5 and v4 are swept: the sine has handed cos 2 to x1, the product nothing yet.
    text = driver.run(slider + card, 7)
    check("1 of 2 contributions" in text and "-0.4161" in text, text)
    driver.run(slider, 10)
    agrees(numbers_of(driver, "Adjoint"), {"elements": [3 + math.cos(2)]})
    driver.keys(DOWN)
    heading = "return document.querySelector('#card h2').textContent"
    check(driver.run(heading).startswith("v3 = "), driver.run(heading))
    driver.keys(UP)
    check(driver.run(heading) == "v1 = x1", driver.run(heading))
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = driver.run(paper)
    driver.keys("t")
    check(driver.run(paper) != light, "the theme does not change")
    driver.keys("t?")
    check(driver.run("return document.getElementById('help').open"), "? shows the keys")
    driver.keys(ESCAPE)


def gpt(driver):
    """Kernels have a timeline of the workspace that leads to them; passes stand side by side."""
    driver.keys("2")
    check(driver.run("return document.querySelector('#sheets [aria-selected=true]').textContent") == "Kernels", "the tab of the kernels")
    check("Workspace of a call" in driver.run("return document.getElementById('memory-title').textContent"), "its workspace")
    for share in range(1, 60):
        driver.run("""const box = document.getElementById('memory').getBoundingClientRect();
            const at = { clientX: box.left + box.width * arguments[0] / 60, clientY: box.bottom - 4, bubbles: true };
            document.getElementById('memory').dispatchEvent(new MouseEvent('click', at))""", share)
        if driver.run("return document.querySelector('#card.node h2')?.textContent ?? ''").startswith("kernel"):
            break
    else:
        raise AssertionError("no piece of the workspace leads to its kernel")
    driver.keys("3")
    check(driver.run("return document.querySelectorAll('#passes .row').length") > 10, "the passes are shown")
    check(driver.run("return document.querySelectorAll('#passes .removed, #passes .added').length") > 0, "with their differences")
    driver.keys(ESCAPE)


def bare(driver):
    """Hostile text is text; a tape without values says how to record them."""
    check("record_values" in driver.run("return document.getElementById('notice').textContent"), "the notice")
    check(driver.run("return document.title").startswith("</script>"), "the title is the text itself")
    check(driver.run("return document.scripts.length") == 2 and driver.run("return document.images.length") == 0, "nothing was added")
    driver.keys("2")
    driver.keys("3")
    check("</script>" in driver.run("return document.getElementById('title').textContent"), "the heading is the text itself")


def endless(driver):
    check("Collapsed by source line" in driver.run("return document.getElementById('notice').textContent"), "it says that it is collapsed")


EXTRA = {"classic": classic, "gpt": gpt, "bare": bare, "endless": endless}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, help="keep screenshots in this folder")
    options = parser.parse_args()
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    pages = json.loads((options.folder / "expected.json").read_text())
    with tempfile.TemporaryDirectory() as profile:
        driver = Driver(profile)
        try:
            for page in pages:
                try:
                    test_page(driver, options.folder, page, options.pictures)
                except AssertionError as problem:
                    raise SystemExit(f"{page['name']}: {problem}") from None
        finally:
            driver.close()


if __name__ == "__main__":
    main()
