#!/usr/bin/env bash
# Gets mediagate at MEDIAGATE_COMMIT of MEDIAGATE_REPO, with its packages, and compiles it. The runner calls it once before
# the first start.
set -euo pipefail
folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source="$folder/src"
[ -d "$source" ] || git clone -q "${MEDIAGATE_REPO:?set it to the address of the repository}" "$source"
git -C "$source" fetch -q origin
git -C "$source" checkout -q "${MEDIAGATE_COMMIT:?set it to the commit to be measured}"
cd "$source"
npm ci --no-audit --no-fund
npm run build
