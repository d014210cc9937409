"""Judges ONNX exports by ONNX's own tools: the checker, and the reference evaluator
for operators that are said to be the same.

    python onnx_check.py SAME.json MODEL.onnx...
"""
import base64
import json
import sys

import numpy
import onnx
from onnx.reference import ReferenceEvaluator


def check(model):
    onnx.checker.check_model(model, full_check=True)  # shapes too


def tensor(x):
    data = numpy.array(x["ints"], numpy.int32) if x["ints"] else numpy.array(x["floats"], numpy.float32)
    return data.reshape(x["dims"])


def compare(case):
    model = onnx.load_from_string(base64.b64decode(case["model"]))
    check(model)
    given = {name: tensor(x) for name, x in case["in"].items()}
    (got,) = ReferenceEvaluator(model).run(None, given)
    numpy.testing.assert_allclose(got, tensor(case["out"]), rtol=1e-6, atol=1e-6, err_msg=case["graph"])


with open(sys.argv[1]) as f:
    cases = json.load(f)
assert cases
for case in cases:
    compare(case)
print(f"{len(cases)} operators compute what ONNX's do")
for path in sys.argv[2:]:
    model = onnx.load(path)
    check(model)
    print(f"{path}: {len(model.graph.node)} nodes, {len(model.functions)} functions are well formed")
