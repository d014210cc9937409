#!/usr/bin/env bash
# Opens what estream export writes of all families with the programs that it is for:
# Netron in a browser, ONNX's checker and reference evaluator, and Graphviz. Installs
# what it lacks: as root with apt-get, from PyPI into a folder of its own, and from
# npm into tools/browser.
set -euo pipefail
cd "$(dirname "$0")/../../.."
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT

command -v chromium >/dev/null && command -v dot >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium graphviz >/dev/null; }
[ -d tools/browser/node_modules/playwright-core ] || npm ci --prefix tools/browser --no-audit --no-fund >/dev/null
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check netron==9.3.3 onnx==1.23.2 numpy
netron=$("$dir/venv/bin/python" -c 'import netron, os; print(os.path.dirname(netron.__file__))')

go build -buildvcs=false -o "$dir/estream" ./tools/estream
modules=(tools/export/testdata/small.ir)
for family in deepseek lfm2 mixtral olmoe qwen3; do
  "$dir/estream" pack --encoding w4 "testdata/$family" "$dir/$family" >/dev/null
  modules+=("testdata/$family" "$dir/$family")
done
"$dir/estream" opt "$dir/deepseek" >"$dir/opened.ir"
"$dir/estream" opt --passes pack testdata/configs/Qwen3-30B-A3B.config.json >"$dir/qwen3-30b.ir"
modules+=("$dir/opened.ir")
large="$dir/qwen3-30b.ir" # its 48 layers take Netron long on a busy machine

models=()
for module in "${modules[@]}" "$large"; do
  out="$dir/out${#models[@]}"
  "$dir/estream" export --format onnx -o "$out.onnx" "$module"
  "$dir/estream" export --format dot "$module" | dot -Tsvg -o "$out.svg"
  models+=("$out.onnx")
done
"$dir/venv/bin/python" tools/export/browser/onnx_check.py tools/export/testdata/same.json "${models[@]}"
node tools/export/browser/netron.mjs "$dir/estream" "$netron" "${modules[@]}"
