"""First requests with the standard library: python3 first_requests.py. The files are saved in the current folder."""

import json
import os
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("MEDIAGATE_URL", "http://127.0.0.1:8787")
KEY = os.environ["MEDIAGATE_API_KEY"]


def post(route: str, body: bytes, content_type: str) -> bytes:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": content_type}
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + route, body, headers)) as response:
            return response.read()
    except urllib.error.HTTPError as failure:
        error = json.load(failure)["error"]
        raise SystemExit(f"{failure.code} {error['code']}: {error['message']}") from None


def post_json(route: str, body: dict) -> bytes:
    return post(route, json.dumps(body).encode(), "application/json")


def post_file(route: str, fields: dict, name: str, content: bytes) -> bytes:
    """Sends a form with one file, as multipart/form-data."""
    boundary = uuid.uuid4().hex
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
        for field, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    body = b"".join([*parts, head, content, f"\r\n--{boundary}--\r\n".encode()])
    return post(route, body, f"multipart/form-data; boundary={boundary}")


chat = json.loads(
    post_json("/v1/chat/completions", {"model": "m-5.5", "messages": [{"role": "user", "content": "Ahoy!"}]})
)
print(chat["choices"][0]["message"]["content"])

image = json.loads(
    post_json("/v1/images/generations", {"model": "gen-img-2", "prompt": "A tug in the harbour at dawn"})
)
urllib.request.urlretrieve(image["data"][0]["url"], "tug.png")
print("tug.png")

sentence = "The quick brown fox jumps over the lazy dog."
speech = post_json("/v1/audio/speech", {"model": "tts_v3", "voice": "nova", "input": sentence})
with open("fox.mp3", "wb") as file:
    file.write(speech)
transcription = post_file("/v1/audio/transcriptions", {"model": "stt-large-v3"}, "fox.mp3", speech)
print(json.loads(transcription)["text"])
