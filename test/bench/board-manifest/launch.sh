#!/usr/bin/env bash
# Starts mediagate on port $1 with the plugins of file $2. The runner binds this process and its children to its cores.
exec node "$(dirname "${BASH_SOURCE[0]}")/src/dist/test/bench/board-launch.js" "$1" "$2"
