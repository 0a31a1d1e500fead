#!/usr/bin/env bash
# One job: the payload {"path": "..."} on standard input, the result on standard output.
set -euo pipefail

# NUL ends the path, because a path may hold any other character, even a newline.
IFS= read -r -d '' path < <(jq -j '.path, "\u0000"')
sum=$(sha256sum <"$path") || exit 100 # dead: to try again would not help
printf '{"sha256": "%s"}' "${sum%% *}"
