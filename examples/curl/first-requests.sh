#!/usr/bin/env bash
# First requests with curl. MEDIAGATE_API_KEY is a key of the gateway; the images are saved in the current folder.
set -euo pipefail

url=${MEDIAGATE_URL:-http://127.0.0.1:8787}
key=${MEDIAGATE_API_KEY:?set MEDIAGATE_API_KEY to a key of the gateway}

post() {
  local route=$1 body=$2
  shift 2
  curl -sS --fail-with-body "$url$route" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d "$body" "$@"
}

get() {
  curl -sS --fail-with-body "$url$1" -H "Authorization: Bearer $key"
}

echo '== The models that this key may use'
get /v1/models
echo

echo '== A streamed chat'
post /v1/chat/completions '{"model":"m-5.5","messages":[{"role":"user","content":"Ahoy!"}],"stream":true}' --no-buffer

echo '== An image job: submit, wait, download'
# The same Idempotency-Key with the same body returns the same job, so a lost answer can be asked for again.
job=$(post /v1/images/jobs '{"model":"gen-img-2","prompt":"A tug in the harbour at dawn"}' -H "Idempotency-Key: first-$$" |
  grep -o 'imgjob_[0-9a-f]*' | head -1)
file=$(get "/v1/images/jobs/$job?wait=60" | grep -o '"url":"[^"]*"' | head -1 | cut -d'"' -f4)
curl -sS --fail -o tug.png "$file"
echo "$job: tug.png"

echo '== Speech, and its transcription'
post /v1/audio/speech '{"model":"tts_v3","voice":"nova","input":"The quick brown fox jumps over the lazy dog."}' -o fox.mp3
curl -sS --fail-with-body "$url/v1/audio/transcriptions" -H "Authorization: Bearer $key" \
  -F model=stt-large-v3 -F file=@fox.mp3
echo
