"""Joins a stream with Zoom's library, and prints what it receives as JSON lines."""
import json
import os
import sys
import threading

import rtms

stream = json.loads(sys.argv[1])
os.environ["ZM_RTMS_CA"] = stream["caFile"]
seen = set()


def tell(kind, **what):
    line = json.dumps(dict(what, kind=kind), sort_keys=True)
    if line not in seen:
        seen.add(line)
        print(line, flush=True)


os.makedirs("logs", exist_ok=True)
client = rtms.Client()
client.set_audio_params(rtms.AudioParams(
    content_type=rtms.AudioContentType["RAW_AUDIO"], codec=rtms.AudioCodec["L16"], sample_rate=rtms.AudioSampleRate["SR_16K"],
    channel=rtms.AudioChannel["MONO"], data_opt=rtms.AudioDataOption["AUDIO_MULTI_STREAMS"], duration=20, frame_size=320))
client.set_video_params(rtms.VideoParams(
    content_type=rtms.VideoContentType["RAW_VIDEO"], codec=rtms.VideoCodec["H264"], resolution=rtms.VideoResolution["HD"], fps=25,
    data_opt=rtms.VideoDataOption["VIDEO_SINGLE_ACTIVE_STREAM"]))
client.set_deskshare_params(rtms.DeskshareParams(
    content_type=rtms.VideoContentType["RAW_VIDEO"], codec=rtms.VideoCodec["H264"], resolution=rtms.VideoResolution["FHD"], fps=25))
client.on_join_confirm(lambda reason: tell("joined", reason=reason))
client.on_audio_data(lambda data, size, timestamp, who: tell("audio", name=who.userName, bytes=size))
client.on_video_data(lambda data, size, timestamp, who: tell("video", name=who.userName))
client.on_deskshare_data(lambda data, size, timestamp, who: tell("share", name=who.userName))
client.on_transcript_data(lambda data, size, timestamp, who: tell("transcript", name=who.userName, text=data.decode()))
client.on_participant_event(lambda event, timestamp, people: tell("people", event=event, names=sorted(p.name for p in people)))
client.on_leave(lambda reason: (tell("left", reason=reason), rtms.stop()))
threading.Timer(60, lambda: os._exit(3)).start()
client.join(meeting_uuid=stream["meetingUuid"], rtms_stream_id=stream["streamId"], server_urls=stream["serverUrls"], ca=stream["caFile"],
            client=stream["clientId"], secret=stream["secret"])
rtms.run()
os._exit(0)
