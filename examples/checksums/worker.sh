#!/usr/bin/env bash
# A worker with curl and jq. It claims 10 jobs at a time, and acks each when it is done. SIGTERM stops it.
set -euo pipefail
url=${DIBS_URL:-http://127.0.0.1:8080}
queue=${QUEUE:-checksums}
worker=${WORKER:-bash-$$}
lease_seconds=${LEASE_SECONDS:-30}

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# To kill the waiting curl is to hang up: a claim whose client is gone gets no job.
stopping='' claiming=''
trap 'stopping=yes; [[ -z $claiming ]] || kill "$claiming" 2>/dev/null || true' TERM INT

# --retry tries again at 429 and 503, after the time in Retry-After, and while the service is away or breaks
# off. An ack may be sent twice. A claim whose answer was lost leaves leases that run out.
post=(curl --silent --show-error --max-time 60 --retry 30 --retry-all-errors --retry-max-time 300
  --header 'content-type: application/json')

claim=$(jq -nc --arg queue "$queue" --arg worker "$worker" --argjson lease "$lease_seconds" \
  '{queues: [$queue], worker: $worker, limit: 10, lease_seconds: $lease, wait_seconds: 20}')

# settle ID VERB BODY: ends a lease. It only warns when the lease was lost: another worker has the job.
settle() {
  local status
  status=$("${post[@]}" --write-out '%{http_code}' --output /dev/null --data "$3" "$url/jobs/$1/$2")
  case $status in
    200) ;;
    404 | 409) echo "$worker: too late for $1" >&2 ;;
    *) echo "$worker: $2 was refused: $status" >&2 && exit 1 ;;
  esac
}

while [[ -z $stopping ]]; do
  # curl runs in the background, because bash runs no trap while a command runs in the foreground.
  "${post[@]}" --output "$answer" --data "$claim" "$url/jobs/claim" &
  claiming=$!
  wait "$claiming" || { [[ $stopping ]] && break || exit 1; }
  claiming=''

  refusal=$(jq -r '.detail // empty' "$answer")
  [[ -z $refusal ]] || { echo "$worker: the claim was refused: $refusal" >&2 && exit 1; }

  # NUL separates the values, because a path may hold any other character, even a newline.
  while IFS= read -r -d '' id && IFS= read -r -d '' token && IFS= read -r -d '' path; do
    if sum=$(sha256sum <"$path"); then
      settle "$id" ack "{\"lease_token\": \"$token\", \"result\": {\"sha256\": \"${sum%% *}\"}}"
    else
      settle "$id" nack "{\"lease_token\": \"$token\", \"error\": \"cannot be read\", \"retry\": false}"
    fi
  done < <(jq -j '.jobs[] | .id, "\u0000", .lease_token, "\u0000", .payload.path, "\u0000"' "$answer")
done
