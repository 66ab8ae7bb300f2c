#!/usr/bin/env python3
"""One training step in PyTorch, in JAX and here, measured in turn on one machine.

    cargo build --release -p wengert-bench
    python3 -m venv venv && venv/bin/pip install numpy torch jax
    venv/bin/python bench/peers/steps.py

Prints the median time of a step in milliseconds as a Markdown table. Every figure comes from a process of its own; the systems take
turns, and a cell is the median over the rounds. All use f32, two threads and the shapes of `wengert-bench step`; a step computes the loss
and its gradient, and updates the parameters by SGD (elementwise: the gradient only). Tracing and compiling are not timed.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time

WORKLOADS = ["tiny_mlp", "mlp", "rnn", "elementwise"]
PEERS = ["torch-eager", "torch-compile", "jax-jit"]
RATE = 1e-3


def shapes(name):
    """Parameters, then data: a shape, or (shape, number of classes) for labels."""
    if name == "tiny_mlp":
        return [(32, 10), (32,), (32, 32), (32,), (1, 32), (1,)], [(16, 10), (16, 1)]
    if name == "mlp":
        return [(512, 784), (512,), (512, 512), (512,), (10, 512), (10,)], [(128, 784), ((128,), 10)]
    if name == "rnn":
        return [(128, 64), (128,), (128, 128), (10, 128), (10,)], [(128, 32, 64), ((32,), 10)]
    return [(1 << 22,)] * 3, []


def arrays(name):
    """Fixed pseudorandom values of moderate size."""
    import numpy as np

    draw = np.random.default_rng(0)
    scaled = lambda shape: (draw.standard_normal(shape) / max(shape[-1], 1) ** 0.5).astype(np.float32)
    labels = lambda shape, classes: draw.integers(0, classes, shape)
    parameters, data = shapes(name)
    if name == "elementwise":
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
    h = data[0]
    for layer in range(0, len(p), 2):
        h = h @ p[layer].T + p[layer + 1]
        h = f.relu(h) if layer + 2 < len(p) else h
    return ((h - data[1]) ** 2).mean() if name == "tiny_mlp" else f.cross_entropy(h, data[1])


def torch_step(name, compiled):
    import torch

    torch.set_num_threads(2)

    class f:
        tanh, exp, log1p, sigmoid, relu, zeros = torch.tanh, torch.exp, torch.log1p, torch.sigmoid, torch.relu, torch.zeros
        cross_entropy = torch.nn.functional.cross_entropy
        fold = lambda step, h, xs: functools.reduce(step, xs, h)

    parameters, data = ([torch.from_numpy(x) for x in part] for part in arrays(name))
    parameters = [x.requires_grad_() for x in parameters]
    function = lambda p, d: loss(name, p, d, f)
    function = torch.compile(function) if compiled else function

    def step():
        for x in parameters:
            x.grad = None
        function(parameters, data).backward()
        if name != "elementwise":
            with torch.no_grad():
                for x in parameters:
                    x -= RATE * x.grad

    return step


def jax_step(name):
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads=2"
    import jax
    import jax.numpy as jnp

    class f:
        tanh, exp, log1p, sigmoid, relu, zeros = jnp.tanh, jnp.exp, jnp.log1p, jax.nn.sigmoid, jax.nn.relu, jnp.zeros
        fold = lambda step, h, xs: jax.lax.scan(lambda h, x: (step(h, x), None), h, xs)[0]
        cross_entropy = lambda logits, y: -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

    parameters, data = ([jnp.asarray(x) for x in part] for part in arrays(name))
    gradient = jax.value_and_grad(lambda p, d: loss(name, p, d, f))

    @jax.jit
    def update(p, d):
        _, g = gradient(p, d)
        return g if name == "elementwise" else [x - RATE * y for x, y in zip(p, g)]

    state = [parameters]

    def step():
        result = jax.block_until_ready(update(state[0], data))
        if name != "elementwise":
            state[0] = result

    return step


def measure(system, name, seconds):
    step = jax_step(name) if system == "jax-jit" else torch_step(name, system == "torch-compile")
    for _ in range(3):
        step()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="target/release/wengert-bench")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--one", nargs=2, metavar=("SYSTEM", "WORKLOAD"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps({"median_ms": measure(*options.one, options.seconds)}))
        return

    def run(system, name):
        ours = [options.ours, "step", name, "--mode", system.split("-")[-1], "--json"]
        theirs = [sys.executable, __file__, "--one", system, name]
        command = (ours if system.startswith("wengert") else theirs) + ["--seconds", str(options.seconds)]
        output = subprocess.run(command, capture_output=True, text=True)
        lines = [line for line in output.stdout.splitlines() if line.startswith("{")]
        if not lines:
            sys.exit(f"{' '.join(command)} failed:\n{output.stderr}")
        return json.loads(lines[-1])["median_ms"]

    systems = ["wengert-eager", "wengert-compiled"] + PEERS
    print("| step, ms | " + " | ".join(systems) + " |\n|---" * 1 + "|---" * len(systems) + "|")
    for name in options.workloads.split(","):
        rounds = [{system: run(system, name) for system in systems} for _ in range(options.rounds)]
        cells = (statistics.median(times[system] for times in rounds) for system in systems)
        print(f"| {name} | " + " | ".join(f"{cell:.3g}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
