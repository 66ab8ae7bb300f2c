#!/usr/bin/env python3
"""One training step in PyTorch, in JAX and here, measured in turn on one machine.

    cargo build --release -p wengert-bench
    python3 -m venv venv && venv/bin/pip install numpy torch jax
    venv/bin/python bench/peers/steps.py

On a machine with an NVIDIA GPU, with the feature `cuda` of `wengert-bench`, the option --cuda compares the steps of accelerators: here with
torch.compile captured in a CUDA graph. Names may begin with `large_`, and end with the precision, as in `large_gpt:bf16`.

Prints the median time of a step in milliseconds as a Markdown table. Every figure comes from a process of its own; the systems take
turns, and a cell is the median over the rounds. All use f32, two threads and the shapes of `wengert-bench step`; a step computes the loss
and its gradient, and updates the parameters by SGD, for gpt by AdamW (elementwise: the gradient only). Tracing and compiling are not timed.
On the GPU f32 is strict unless a precision is named, `bf16` means autocast with f32 parameters, and 20 steps are timed together.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time

WORKLOADS = ["tiny_mlp", "mlp", "rnn", "cnn", "gpt", "elementwise"]
ON_GPU = ["tiny_mlp", "mlp", "rnn", "large_cnn", "large_cnn:tf32", "gpt", "gpt:tf32", "large_elementwise", "large_gpt:bf16"]
PEERS = ["torch-eager", "torch-compile", "jax-jit"]
RATE, BETA1, BETA2, EPSILON, DECAY = 1e-3, 0.9, 0.999, 1e-8, 0.01

# The transformer: vocabulary, tokens of a sequence, width, and the number of blocks; small and large.
GPT = {False: (96, 128, 256, 4), True: (50304, 1024, 768, 12)}
PER_BLOCK = 12


def heads(width):
    return 12 if width == 768 else 8


def plain(name):
    """The name without size and precision."""
    return name.split(":")[0].removeprefix("large_")


def shapes(name):
    """Parameters, then data: a shape, or (shape, number of classes) for labels."""
    is_large, name = name.startswith("large_"), plain(name)
    if name == "tiny_mlp":
        return [(32, 10), (32,), (32, 32), (32,), (1, 32), (1,)], [(16, 10), (16, 1)]
    if name == "mlp":
        return [(512, 784), (512,), (512, 512), (512,), (10, 512), (10,)], [(128, 784), ((128,), 10)]
    if name == "rnn":
        return [(128, 64), (128,), (128, 128), (10, 128), (10,)], [(128, 32, 64), ((32,), 10)]
    if name == "cnn":
        parameters = [(32, 1, 3, 3), (32,), (64, 32, 3, 3), (64,), (128, 9216), (128,), (10, 128), (10,)]
        batch = 256 if is_large else 64
        return parameters, [(batch, 1, 28, 28), ((batch,), 10)]
    if name == "gpt":
        vocabulary, length, width, blocks = GPT[is_large]
        linear = lambda outputs, inputs: [(outputs, inputs), (outputs,)]
        layers = linear(3 * width, width) + linear(width, width) + linear(4 * width, width) + linear(width, 4 * width)
        parameters = [(vocabulary, width), (length, width)] + ([(width,)] * 4 + layers) * blocks
        tokens = ((8, length), vocabulary)
        return parameters + [(width,), (width,), (vocabulary, width)], [tokens, tokens]
    return [(1 << 26 if is_large else 1 << 22,)] * 3, []


def arrays(name):
    """Fixed pseudorandom values of moderate size."""
    import numpy as np

    draw = np.random.default_rng(0)
    scaled = lambda shape: (draw.standard_normal(shape) / max(shape[-1], 1) ** 0.5).astype(np.float32)
    labels = lambda shape, classes: draw.integers(0, classes, shape)
    parameters, data = shapes(name)
    if plain(name) == "elementwise":
        return [draw.standard_normal(shape).astype(np.float32) for shape in parameters], []
    is_label = lambda shape: isinstance(shape[0], tuple)
    return [scaled(shape) for shape in parameters], [labels(*s) if is_label(s) else scaled(s) for s in data]


def loss(name, p, data, f):
    """The loss, written once: `f` has the few functions that PyTorch and JAX spell differently."""
    if name == "elementwise":
        x, w, b = p
        return (f.tanh(x * w + b) * f.exp(-x * x) + f.log1p(x * x) * f.sigmoid(b)).sum()
    if name == "rnn":
        step = lambda h, x: f.tanh(x @ p[0].T + p[1] + h @ p[2].T)
        h = f.fold(step, f.zeros((data[0].shape[1], 128)), data[0])
        return f.cross_entropy(h @ p[3].T + p[4], data[1])
    if name == "cnn":
        h = f.relu(f.conv(data[0], p[0], p[1]))
        h = f.max_pool(f.relu(f.conv(h, p[2], p[3]))).reshape(data[0].shape[0], -1)
        return f.cross_entropy(f.relu(h @ p[4].T + p[5]) @ p[6].T + p[7], data[1])
    if name == "gpt":
        x = p[0][data[0]] + p[1]
        for start in range(2, len(p) - 3, PER_BLOCK):
            gain1, bias1, gain2, bias2, qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias = p[start : start + PER_BLOCK]
            h = f.layer_norm(x, gain1, bias1) @ qkv.T + qkv_bias
            x = x + f.causal_attention(h) @ out.T + out_bias
            h = f.layer_norm(x, gain2, bias2) @ up.T + up_bias
            x = x + f.gelu(h) @ down.T + down_bias
        logits = f.layer_norm(x, p[-3], p[-2]) @ p[-1].T
        return f.cross_entropy(logits.reshape(-1, p[0].shape[0]), data[1].reshape(-1))
    h = data[0]
    for layer in range(0, len(p), 2):
        h = h @ p[layer].T + p[layer + 1]
        h = f.relu(h) if layer + 2 < len(p) else h
    return ((h - data[1]) ** 2).mean() if name == "tiny_mlp" else f.cross_entropy(h, data[1])


def torch_step(system, name):
    """A step in PyTorch, and what waits for its end."""
    import torch

    on_gpu, (name, _, precision) = system == "torch-graph", name.partition(":")
    torch.set_num_threads(2)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"

    class f:
        tanh, exp, log1p, sigmoid, relu, zeros = torch.tanh, torch.exp, torch.log1p, torch.sigmoid, torch.relu, torch.zeros
        cross_entropy = torch.nn.functional.cross_entropy
        fold = lambda step, h, xs: functools.reduce(step, xs, h)
        conv = torch.nn.functional.conv2d
        max_pool = lambda x: torch.nn.functional.max_pool2d(x, 2)
        gelu = lambda x: torch.nn.functional.gelu(x, approximate="tanh")
        layer_norm = lambda x, gain, bias: torch.nn.functional.layer_norm(x, (x.shape[-1],), gain, bias)

        def causal_attention(x):
            batch, tokens, _ = x.shape
            q, k, v = x.view(batch, tokens, 3, heads(x.shape[-1] // 3), -1).permute(2, 0, 3, 1, 4)
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return y.transpose(1, 2).reshape(batch, tokens, -1)

    if on_gpu:
        f.zeros = functools.partial(torch.zeros, device="cuda")
    place = "cuda" if on_gpu else "cpu"
    parameters, data = ([torch.from_numpy(x).to(place) for x in part] for part in arrays(name))
    parameters = [x.requires_grad_() for x in parameters]
    name = plain(name)
    function = lambda p, d: loss(name, p, d, f)
    function = function if system == "torch-eager" else torch.compile(function)

    options = {"fused": True, "capturable": True} if on_gpu else {}
    adamw = torch.optim.AdamW(parameters, RATE, (BETA1, BETA2), EPSILON, DECAY, **options) if name == "gpt" else None
    update = torch.optim.SGD(parameters, RATE) if on_gpu and name not in ("gpt", "elementwise") else adamw

    def step():
        for x in parameters:
            x.grad = None
        with torch.autocast(place, dtype=torch.bfloat16, enabled=precision == "bf16"):
            value = function(parameters, data)
        value.backward()
        if update:
            update.step()
        elif name != "elementwise":
            with torch.no_grad():
                for x in parameters:
                    x -= RATE * x.grad

    if not on_gpu:
        return step, lambda: None
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(5):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay, torch.cuda.synchronize


def jax_step(name):
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads=2"
    import jax
    import jax.numpy as jnp

    class f:
        tanh, exp, log1p, sigmoid, relu, zeros = jnp.tanh, jnp.exp, jnp.log1p, jax.nn.sigmoid, jax.nn.relu, jnp.zeros
        fold = lambda step, h, xs: jax.lax.scan(lambda h, x: (step(h, x), None), h, xs)[0]
        conv = lambda x, w, b: jax.lax.conv(x, w, (1, 1), "VALID") + b[:, None, None]
        max_pool = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        gelu = lambda x: jax.nn.gelu(x, approximate=True)
        layer_norm = lambda x, gain, bias: jax.nn.standardize(x, epsilon=1e-5) * gain + bias

        def causal_attention(x):
            batch, tokens, _ = x.shape
            q, k, v = jnp.moveaxis(x.reshape(batch, tokens, 3, heads(x.shape[-1] // 3), -1), 2, 0)
            return jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(batch, tokens, -1)

        cross_entropy = lambda logits, y: -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

    parameters, data = ([jnp.asarray(x) for x in part] for part in arrays(name))
    gradient = jax.value_and_grad(lambda p, d: loss(name, p, d, f))

    def adamw(state, g):
        p, m, v, count = state
        count = count + 1
        m = [BETA1 * m + (1 - BETA1) * g for m, g in zip(m, g)]
        v = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(v, g)]
        size = lambda m, v: (m / (1 - BETA1**count)) / (jnp.sqrt(v / (1 - BETA2**count)) + EPSILON)
        return [p * (1 - RATE * DECAY) - RATE * size(m, v) for p, m, v in zip(p, m, v)], m, v, count

    @functools.partial(jax.jit, donate_argnums=0)
    def update(state, d):
        value, g = gradient(state[0], d)
        if name == "elementwise":
            return state, (value, g)
        if name == "gpt":
            return adamw(state, g), value
        return ([x - RATE * y for x, y in zip(state[0], g)],), value

    zeros = lambda: [jnp.zeros_like(x) for x in parameters]
    state = [(parameters, zeros(), zeros(), jnp.float32(0)) if name == "gpt" else (parameters,)]

    def step():
        state[0], result = jax.block_until_ready(update(state[0], data))
        return result

    return step, lambda: None


def measure(system, name, seconds):
    step, wait = jax_step(name) if system == "jax-jit" else torch_step(system, name)
    together = 20 if system == "torch-graph" else 1
    for _ in range(3):
        step()
    wait()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        for _ in range(together):
            step()
        wait()
        times.append(1e3 * (time.perf_counter() - start) / together)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="target/release/wengert-bench")
    parser.add_argument("--cuda", action="store_true", help="on a GPU, beside torch.compile in a CUDA graph")
    parser.add_argument("--workloads", help="names, with commas between them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--one", nargs=2, metavar=("SYSTEM", "WORKLOAD"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps({"median_ms": measure(*options.one, options.seconds)}))
        return

    def run(system, name):
        own, _, precision = name.partition(":")
        ours = [options.ours, "step", own, "--mode", system.split("-")[-1], "--json"]
        ours += ["--device", "cuda", "--precision", precision or "strict"] if options.cuda else []
        theirs = [sys.executable, __file__, "--one", system, name]
        command = (ours if system.startswith("wengert") else theirs) + ["--seconds", str(options.seconds)]
        output = subprocess.run(command, capture_output=True, text=True)
        lines = [line for line in output.stdout.splitlines() if line.startswith("{")]
        if not lines:
            sys.exit(f"{' '.join(command)} failed:\n{output.stderr}")
        return json.loads(lines[-1])["median_ms"]

    systems = ["wengert-compiled", "torch-graph"] if options.cuda else ["wengert-eager", "wengert-compiled"] + PEERS
    names = options.workloads.split(",") if options.workloads else ON_GPU if options.cuda else WORKLOADS
    print("| step, ms | " + " | ".join(systems) + " |\n|---" * 1 + "|---" * len(systems) + "|")
    for name in names:
        rounds = [{system: run(system, name) for system in systems} for _ in range(options.rounds)]
        cells = (statistics.median(times[system] for times in rounds) for system in systems)
        print(f"| {name} | " + " | ".join(f"{cell:.3g}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
