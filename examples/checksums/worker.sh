#!/usr/bin/env bash
# A worker in bash: `dibs work` runs sum.sh for each job, 10 side by side. SIGTERM stops it.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
export DIBS_URL=${DIBS_URL:-http://127.0.0.1:8080}

# In a project of yours: dibs work ...
exec node "$here/../../dist/main.js" work "${QUEUE:-checksums}" --result --concurrency 10 \
  --lease-seconds "${LEASE_SECONDS:-30}" --name "${WORKER:-bash-$$}" -- bash "$here/sum.sh"
