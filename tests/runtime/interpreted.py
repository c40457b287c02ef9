"""A kernel under ``tuned`` in Triton's interpreter; prints what came out. Run as a script."""

import json
import sys

import torch
import triton
import triton.language as tl

from autotune_lab import tuned


@tuned("scale", key={"n": "n"}, dtype="x_ptr", table=sys.argv[1], default={"BLOCK": 32})
@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * factor, mask=offsets < n)


def main():
    said = []
    for n in (1, 37, 64, 1000):
        x = torch.randn(n)
        out = torch.full_like(x, float("nan"))
        grids = []
        scale[lambda meta, n=n, grids=grids: grids.append(meta["BLOCK"]) or
              (triton.cdiv(n, meta["BLOCK"]),)](x, out, n, 3.0)  # fmt: skip
        decision = scale.explain(x, out, n, 3.0)
        said.append([n, decision.step, grids[-1], torch.equal(out, x * 3.0)])
    print(json.dumps(said))


if __name__ == "__main__":
    main()
