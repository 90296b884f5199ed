#!/bin/bash
# highlighter.sh: builds internal/page/web/third_party/code.js anew, the highlighter of the
# report's sources: modes of CodeMirror, which colour line by line. Needs npm; nothing else does.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/internal/page/web/third_party
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >package.json <<'END'
{"private": true, "dependencies": {"@codemirror/legacy-modes": "6.5.5", "@codemirror/streamparser": "6.0.0", "esbuild": "0.28.2"}}
END
npm install --silent --no-audit --no-fund
cat >entry.js <<'END'
export { StringStream } from "@codemirror/streamparser";
import { c, cpp, objectiveC, objectiveCpp } from "@codemirror/legacy-modes/mode/clike";
import { go } from "@codemirror/legacy-modes/mode/go";
import { rust } from "@codemirror/legacy-modes/mode/rust";
import { fortran } from "@codemirror/legacy-modes/mode/fortran";
import { gas } from "@codemirror/legacy-modes/mode/gas";
export const modes = { c, cpp, objectiveC, objectiveCpp, go, rust, fortran, gas };
END
npx esbuild entry.js --bundle --minify --format=iife --global-name=cairnCode --target=es2020 --outfile=code.js --legal-comments=none --log-level=error
{
  echo "/*! CodeMirror's legacy modes 6.5.5 and stream parser 6.0.0, MIT licence: see LICENSE. Built by scripts/highlighter.sh. */"
  cat code.js
} >"$out/code.js"
cp node_modules/@codemirror/legacy-modes/LICENSE "$out/LICENSE"
