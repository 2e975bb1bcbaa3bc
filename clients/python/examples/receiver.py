"""Receives the webhooks of jobs with FastAPI: pip install fastapi uvicorn"""

import os

import uvicorn
from fastapi import FastAPI, Request, Response

from standin import WebhookSignatureError, receive_webhook

secret = os.environ["STANDIN_WEBHOOK_SECRET"]
seen: set[str] = set()  # use your database
app = FastAPI()


@app.post("/hooks")
async def hooks(request: Request) -> Response:
    try:
        hook = receive_webhook(request.headers.items(), await request.body(), secret)
    except WebhookSignatureError:
        return Response(status_code=400)
    if hook.delivery_id not in seen:
        seen.add(hook.delivery_id)
        print(hook.event, hook.job_id, flush=True)
    return Response(status_code=204)


uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "9090")), log_level="warning")
