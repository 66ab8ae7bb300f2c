#!/usr/bin/env python3
"""One training step in PyTorch, in JAX and here, measured in turn on one machine.

    cargo build --release -p wengert-bench
    python3 -m venv venv && venv/bin/pip install numpy torch jax
    venv/bin/python bench/peers/steps.py

Prints the median time of a step in milliseconds as a Markdown table. Every figure comes from a process of its own; the systems take
turns, and a cell is the median over the rounds. All use f32, two threads and the shapes of `wengert-bench step`; a step computes the loss
and its gradient, and updates the parameters by SGD, for gpt by AdamW (elementwise: the gradient only). Tracing and compiling are not timed.
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
PEERS = ["torch-eager", "torch-compile", "jax-jit"]
RATE, BETA1, BETA2, EPSILON, DECAY = 1e-3, 0.9, 0.999, 1e-8, 0.01

# The transformer: tokens, width, hidden width and heads of a block, and the number of blocks.
VOCABULARY, WIDTH, HIDDEN, HEADS, BLOCKS = 96, 256, 1024, 8, 4
PER_BLOCK = 12


def shapes(name):
    """Parameters, then data: a shape, or (shape, number of classes) for labels."""
    if name == "tiny_mlp":
        return [(32, 10), (32,), (32, 32), (32,), (1, 32), (1,)], [(16, 10), (16, 1)]
    if name == "mlp":
        return [(512, 784), (512,), (512, 512), (512,), (10, 512), (10,)], [(128, 784), ((128,), 10)]
    if name == "rnn":
        return [(128, 64), (128,), (128, 128), (10, 128), (10,)], [(128, 32, 64), ((32,), 10)]
    if name == "cnn":
        parameters = [(32, 1, 3, 3), (32,), (64, 32, 3, 3), (64,), (128, 9216), (128,), (10, 128), (10,)]
        return parameters, [(64, 1, 28, 28), ((64,), 10)]
    if name == "gpt":
        linear = lambda outputs, inputs: [(outputs, inputs), (outputs,)]
        layers = linear(3 * WIDTH, WIDTH) + linear(WIDTH, WIDTH) + linear(HIDDEN, WIDTH) + linear(WIDTH, HIDDEN)
        parameters = [(VOCABULARY, WIDTH), (128, WIDTH)] + ([(WIDTH,)] * 4 + layers) * BLOCKS
        tokens = ((8, 128), VOCABULARY)
        return parameters + [(WIDTH,), (WIDTH,), (VOCABULARY, WIDTH)], [tokens, tokens]
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
        return f.cross_entropy(logits.reshape(-1, VOCABULARY), data[1].reshape(-1))
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
        conv = torch.nn.functional.conv2d
        max_pool = lambda x: torch.nn.functional.max_pool2d(x, 2)
        gelu = lambda x: torch.nn.functional.gelu(x, approximate="tanh")
        layer_norm = lambda x, gain, bias: torch.nn.functional.layer_norm(x, (x.shape[-1],), gain, bias)

        def causal_attention(x):
            batch, tokens, _ = x.shape
            q, k, v = x.view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return y.transpose(1, 2).reshape(batch, tokens, -1)

    parameters, data = ([torch.from_numpy(x) for x in part] for part in arrays(name))
    parameters = [x.requires_grad_() for x in parameters]
    function = lambda p, d: loss(name, p, d, f)
    function = torch.compile(function) if compiled else function

    adamw = torch.optim.AdamW(parameters, RATE, (BETA1, BETA2), EPSILON, DECAY) if name == "gpt" else None

    def step():
        for x in parameters:
            x.grad = None
        function(parameters, data).backward()
        if adamw:
            adamw.step()
        elif name != "elementwise":
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
        conv = lambda x, w, b: jax.lax.conv(x, w, (1, 1), "VALID") + b[:, None, None]
        max_pool = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        gelu = lambda x: jax.nn.gelu(x, approximate=True)
        layer_norm = lambda x, gain, bias: jax.nn.standardize(x, epsilon=1e-5) * gain + bias

        def causal_attention(x):
            batch, tokens, _ = x.shape
            q, k, v = jnp.moveaxis(x.reshape(batch, tokens, 3, HEADS, -1), 2, 0)
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
