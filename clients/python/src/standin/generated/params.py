"""The arguments of methods, and the dicts in them. params.py makes this file from the API description."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from uuid import UUID

if TYPE_CHECKING:
    from typing_extensions import Required
class AutoLeaveConfig(TypedDict, total=False):
    "When the bot leaves. It leaves as soon as any of the limits is reached."

    after_entry_delay_seconds: int
    "Leave if not admitted within this many seconds of asking to join. Default: 600."
    after_silence_seconds: int
    "Leave if there was no sound for this many seconds. The time does not count while the bot knows that its sound is faulty, or receives sound. Default: 1200."
    after_solo_seconds: int
    "Leave if the bot was the only participant for this many seconds. A bot that receives sound or video is not alone, whatever the roster shows. Default: 60."
    after_max_seconds: int
    "Leave after this many seconds in the meeting. Default: 14400."
    on_bot_detected: bool
    "Leave immediately when a known competing notetaker is in the roster. Default: false."
    only_notetakers_seconds: int
    "Leave when only notetakers have been left for this many seconds, whatever they play: bots that are known by their names, and bots with the own or the default name. Default: 60. Jobs show it if their request has it."
    silent_are_notetakers: bool
    "Whether participants who have not spoken since the bot joined count as notetakers. Default: false. Jobs show it if it is true."


class AutoLeavePatch(TypedDict, total=False):
    "Changes to single settings, with the same bounds as for a new job."

    after_entry_delay_seconds: int
    "Leave if not admitted within this many seconds of asking to join."
    after_silence_seconds: int
    "Leave if there was no sound for this many seconds."
    after_solo_seconds: int
    "Leave if the bot was the only participant for this many seconds."
    after_max_seconds: int
    "Leave after this many seconds in the meeting."
    on_bot_detected: bool
    "Leave immediately when a known competing notetaker is in the roster."
    only_notetakers_seconds: int
    "Leave when only notetakers have been left for this many seconds, whatever they play: bots that are known by their names, and bots with the own or the default name. Default: 60. Jobs show it if their request has it."
    silent_are_notetakers: bool
    "Whether participants who have not spoken since the bot joined count as notetakers. Default: false. Jobs show it if it is true."


class CalendarCreate(TypedDict, total=False):
    "A calendar to connect."

    name: Required[str]
    "A display name."
    provider: Literal["feed", "google", "microsoft"] | str
    "`feed` for a calendar at an `icsUrl`, the default; `google` for Google Calendar; `microsoft` for Microsoft 365 and Outlook.com."
    ics_url: str
    "With the provider `feed`: the address of the calendar in iCal format, an https, http or webcal URL. Whoever knows it can read the calendar."
    refresh_token: str
    "With the other providers: the OAuth 2.0 refresh token of the owner, with the scope calendar.readonly of Google, or Calendars.Read and offline_access of Microsoft."
    client_id: str
    "The ID of the OAuth client to which the refresh token was given. By default that of the service."
    client_secret: str
    "The secret of this client."
    tenant: str
    "The Microsoft tenant of this client. By default that of the service."
    calendar_id: str
    "The ID of the calendar at the provider. By default, the main calendar of the owner."
    email: str
    "The email address of the owner of the calendar. The rules external, internal, organized and accepted need it. Without it, it is unknown which meetings the owner has declined. The providers google and microsoft are asked for it."
    rules: CalendarRules
    "Which meetings get a bot. All rules must be met. A meeting that the owner has declined gets none."
    job: CalendarJob
    "Settings of the jobs of a calendar. Those that are not set are the defaults of jobs."
    poll_seconds: int
    "How often the calendar is read, in seconds. Default: 300."


class CalendarJob(TypedDict, total=False):
    "Settings of the jobs of a calendar. Those that are not set are the defaults of jobs."

    display_name: str
    "The name shown to other participants."
    webhooks: Webhooks
    "The URLs that receive the events of this job."
    auto_leave: AutoLeavePatch
    "Changes to single settings, with the same bounds as for a new job."
    recording: RecordingOptions
    "What is recorded. An option that is not set is the team's, or else the service's, setting."
    captions: CaptionsOptions
    "The live captions of the meeting platform. An option that is not set is the service's setting."
    chat: bool
    "Whether the bot records the messages in the chat of the meeting. By default, the service's setting."
    transcript: TranscriptOptions
    "The transcript that the service makes of the meeting, if its operator has configured a transcriber."
    consent: ConsentOptions
    "Permission to record."
    streams: Sequence[StreamOptions]
    "Receivers to which the service sends the live sound of the meeting. The guide *Follow a meeting live* describes the messages. In a change of a job, the list replaces the earlier one."
    output: OutputOptions
    "Allows the bot to play sound and to show pictures in the meeting: `play-audio`, `speak`, `camera` and `screen-share`. Without this option, and without a default of the team, these operations result in 409 `invalid_state`, and nothing of the meeting page's devices is changed. `{}` is enough. In a change of a job, it replaces the earlier one."


class CalendarPatch(TypedDict, total=False):
    "Changes to a calendar."

    name: str
    "A display name."
    ics_url: str
    "Replaces the address of a feed."
    refresh_token: str
    "Replaces the refresh token."
    client_id: str
    "Replaces the ID of the OAuth client. Empty for that of the service."
    client_secret: str
    "Replaces the secret of the client."
    tenant: str
    "Replaces the Microsoft tenant."
    calendar_id: str
    "Another calendar of the owner. Empty for the main one."
    email: str | None
    "The email address of the owner. null removes it."
    rules: CalendarRules
    "Rules that are not set do not change."
    job: CalendarJob
    "Replaces all settings of jobs."
    poll_seconds: int
    "How often the calendar is read, in seconds."


class CalendarRules(TypedDict, total=False):
    "Which meetings get a bot. All rules must be met. A meeting that the owner has declined gets none."

    record: Sequence[Literal["all", "accepted", "organized", "external", "internal", "public", "none"] | str] | None
    "The conditions, which must all hold. `accepted`: the owner has accepted or organizes the meeting; `organized`: the owner organizes it; `external`: somebody's email address is of another organization than the owner's; `internal`: nobody's is; `public`: the meeting is not private; `none`: it is switched on; `all`: it may be any meeting. By default, or with null, `accepted` and `public`, or `public` alone while the email address of the owner is unknown."
    aliases: Sequence[str]
    "Further email addresses of the owner."
    title_matches: str
    "A regular expression (RE2) that must match a part of the title, ignoring case. Empty for any title, which is the default."
    min_participants: int
    "The number of participants that a meeting needs, with the organizer and without those who declined. Default: 0."
    opt_out: str
    "A meeting with this text in its title or description gets no bot, ignoring case. Empty for none. Default: #nobot."
    invite: str
    "The address of an account that is added as a guest to the meetings of the next two days that get a bot and that the owner organizes. The access to the calendar must permit it (`calendar.events`, `Calendars.ReadWrite`). Default: none."
    tell_organizer: int
    "How many minutes before a meeting that gets a bot its organizer is told by mail, if the organizer has an address of the domain of a user of your team. Default: 0, never."


class CameraOptions(TypedDict, total=False):
    "What the bot shows as its camera from the start. Exactly one property is required."

    image: OutputPage
    "An image, as in `setCamera`. The service fetches it when the bot is admitted."
    page: OutputPage
    "A web page, which the bot opens at 1280x720 pixels in a browser session of its own. Others hear what it plays, and its microphone hears the meeting while that is recorded."
    name_card: bool
    "A card with the bot's name."


class CameraPicture(TypedDict, total=False):
    "What the bot shows as its camera. Exactly one property is required."

    image: OutputFile
    "A PNG, JPEG, WebP, GIF or BMP image of up to 50 million pixels."
    video: OutputFile
    "A video of up to 2 minutes, such as MP4, WebM or GIF. It is shown with 10 pictures per second."
    page: OutputPage
    "A web page, which the bot opens at 1280x720 pixels in a browser session of its own. Others hear what it plays, and its microphone hears the meeting while that is recorded."
    none: bool
    "Turns the camera off."


class CaptionsOptions(TypedDict, total=False):
    "The live captions of the meeting platform. An option that is not set is the service's setting."

    enabled: bool
    "Whether the bot turns on the captions, hidden from the video, and records them."
    language: str
    "The language that is spoken, as a BCP 47 tag. The bot selects it for the captions on Google Meet; elsewhere the files with captions state it."


class ConsentOptions(TypedDict, total=False):
    "Permission to record."

    required: bool
    "Whether the bot asks the host for permission to record when it is admitted, and records only when it is granted. Otherwise the bot leaves and the job fails with `recording_disabled`. An operator can require it for all jobs."


class FailedDeliveries(TypedDict, total=False):
    "Selects webhooks that failed permanently and match all given fields."

    job_id: UUID | str
    "The ID of the job."
    endpoint_id: UUID | str
    "The ID of the endpoint."
    url: str
    "The webhook URL, exactly as configured."
    from_: datetime.datetime | str
    "Only events at this time or later."
    to: datetime.datetime | str
    "Only events before this time."


class JobCreate(TypedDict, total=False):
    "A request to send a bot into a meeting."

    external_id: Required[str]
    "Your own ID for the job. It is the idempotency key and unique within your consumer."
    meeting_url: Required[str]
    "The URL of the meeting, an absolute http or https URL."
    platform: Literal["meet", "teams", "zoom-web", "zoom-sdk"] | str
    "By default detected from the host of `meetingUrl`: Zoom's domains, or a label that starts with zoom, are `zoom-web`; Microsoft's, or a label that starts with teams, are `teams`. Other hosts default to `meet`."
    join_at: datetime.datetime | str
    "When to join. If omitted or in the past, the bot joins immediately."
    display_name: str
    "The name shown to other participants, on one line and cut to 1000 characters. A blank name becomes the default. Default: Standin."
    webhooks: Webhooks
    "The URLs that receive the events of this job."
    metadata: Mapping[str, Any]
    "Any object, up to 256 KiB as JSON. It is included in the job and in webhooks. Some keys are aliases of options and apply if the option itself is not set: `title`, `recordingMode` (`recording.mode`), `participantAudio` (`recording.participantAudio`), `captions` (`captions.enabled`), `captionsLanguage` (`captions.language`), `chat`, `transcript` (`transcript.enabled`), `recordingPermission` (`consent.required`) and, with test keys, `simulate`. A value of them that cannot be used is ignored, and the header `X-Standin-Warning` names the key; but `recordingPermission` with any other value than `false` counts as true."
    auto_leave: AutoLeaveConfig
    "When the bot leaves. It leaves as soon as any of the limits is reached."
    title: str
    "The title of the meeting, which the details of the job contain."
    sign_in: Literal["never", "ifRequired", "always"] | str
    "Whether the bot signs in to the platform with an account: `ifRequired` (the default, unless your team has another) when an account is on the invitation or the page refuses guests, `always`, or `never`."
    account: str
    "The account to sign in with: its ID, its label, or the name of a group. By default, any that the team may use."
    start_before: datetime.datetime | str
    "When it is too late to send the bot, because the meeting is over: after `joinAt`. A job without a bot fails then with `dispatch_timeout`; a bot that was in the meeting and is lost is replaced later too. By default, the service's setting, 30 minutes after `joinAt` or the creation of the job, whichever is later."
    recording: RecordingOptions
    "What is recorded. An option that is not set is the team's, or else the service's, setting."
    captions: CaptionsOptions
    "The live captions of the meeting platform. An option that is not set is the service's setting."
    chat: bool
    "Whether the bot records the messages in the chat of the meeting. By default, the service's setting."
    transcript: TranscriptOptions
    "The transcript that the service makes of the meeting, if its operator has configured a transcriber."
    consent: ConsentOptions
    "Permission to record."
    streams: Sequence[StreamOptions]
    "Receivers to which the service sends the live sound of the meeting. The guide *Follow a meeting live* describes the messages. In a change of a job, the list replaces the earlier one."
    output: OutputOptions
    "Allows the bot to play sound and to show pictures in the meeting: `play-audio`, `speak`, `camera` and `screen-share`. Without this option, and without a default of the team, these operations result in 409 `invalid_state`, and nothing of the meeting page's devices is changed. `{}` is enough. In a change of a job, it replaces the earlier one."
    simulate: Simulation
    "What happens to the simulated bot of a test job. With a live key, this option is invalid."
    dedupe: bool
    "By default false. Return another job instead of creating one, if a job of the consumer in the same mode sends a bot into the same meeting, however its link is written, and it is in the meeting or its time is within 15 minutes of `joinAt`. The `externalId` of the request is not used then."


class JobPatch(TypedDict, total=False):
    "Changes to a job that is not yet dispatched."

    join_at: datetime.datetime | str
    "When to join. `startBefore` moves with it."
    display_name: str
    "The name shown to other participants. A blank name becomes the default."
    webhooks: JobPatchWebhooks
    "Changes to single URLs. null removes a URL."
    metadata: Mapping[str, Any]
    "Replaces all metadata. Up to 256 KiB as JSON."
    auto_leave: AutoLeavePatch
    "Changes to single settings, with the same bounds as for a new job."
    title: str | None
    "The title of the meeting. null removes it."
    start_before: datetime.datetime | str | None
    "When it is too late to send the bot. null removes it."
    recording: RecordingOptions
    "Options that are not set do not change."
    captions: CaptionsOptions
    "Options that are not set do not change."
    chat: bool
    "Whether the bot records the messages in the chat of the meeting. By default, the service's setting."
    transcript: TranscriptOptions
    "Options that are not set do not change."
    consent: ConsentOptions
    "Permission to record."
    sign_in: Literal["never", "ifRequired", "always"] | str
    "Whether the bot signs in to the platform with an account: `ifRequired` (the default, unless your team has another) when an account is on the invitation or the page refuses guests, `always`, or `never`."
    account: str
    "The account to sign in with: its ID, its label, or the name of a group. By default, any that the team may use."
    streams: Sequence[StreamOptions]
    "Receivers to which the service sends the live sound of the meeting. The guide *Follow a meeting live* describes the messages. In a change of a job, the list replaces the earlier one."
    output: OutputOptions
    "Allows the bot to play sound and to show pictures in the meeting: `play-audio`, `speak`, `camera` and `screen-share`. Without this option, and without a default of the team, these operations result in 409 `invalid_state`, and nothing of the meeting page's devices is changed. `{}` is enough. In a change of a job, it replaces the earlier one."
    simulate: Simulation
    "Replaces the whole simulation."


class JobPatchWebhooks(TypedDict, total=False):
    "Changes to single URLs. null removes a URL."

    on_status_change: str | None
    "Replaces the URL."
    on_finalize: str | None
    "Replaces the URL."


class KeyCreate(TypedDict, total=False):
    "A key to create."

    name: Required[str]
    "What you call the key, such as the program that uses it."
    mode: Literal["live", "test"] | str
    "Default: the mode of the key of this request."
    scope: Literal["read", "jobs", "admin"] | str
    "What a key may do. `read` reads jobs, recordings and texts. `jobs` also sends and controls bots and deletes recordings. `admin` also manages keys and rotates the webhook secret. Keys have `admin` unless they were created with another scope."
    expires_at: datetime.datetime | str | None
    "When the key stops working. Default: never."


class OutputFile(TypedDict, total=False):
    "A file. Either `uri` or `data` is required."

    uri: str
    "The http or https URL of the file. The service fetches it once. It must be on the public internet."
    data: bytes | str
    "The file in base64, up to about 750 kB, because a body has at most 1 MiB."


class OutputOnJoin(TypedDict, total=False):
    "What the bot plays when it is admitted. Either `uri` or `text` is required."

    uri: str
    "The http or https URL of an audio file. The service fetches it when the bot is admitted."
    text: str
    "A text to speak. The service needs a speech server."
    voice: str
    "A voice of the speech server. By default, the operator's."
    language: str
    "The language of the text as a BCP 47 tag, for speech servers that take one."


class OutputOptions(TypedDict, total=False):
    "Allows the bot to play sound and to show pictures in the meeting: `play-audio`, `speak`, `camera` and `screen-share`. Without this\noption, and without a default of the team, these operations result in 409 `invalid_state`, and nothing of the meeting page's devices\nis changed. `{}` is enough. In a change of a job, it replaces the earlier one.\n"

    on_join: OutputOnJoin
    "What the bot plays when it is admitted. Either `uri` or `text` is required."
    replay_on_join: bool
    "Whether to play `onJoin` again when the bot rejoins the meeting. Default: false."
    camera: CameraOptions
    "What the bot shows as its camera from the start. Exactly one property is required."


class OutputPage(TypedDict, total=False):
    "A web page, which the bot opens at 1280x720 pixels in a browser session of its own. Others hear what it plays, and its microphone hears the meeting while that is recorded."

    uri: Required[str]
    "The http or https URL. It must be on the public internet."


class RecordingOptions(TypedDict, total=False):
    "What is recorded. An option that is not set is the team's, or else the service's, setting."

    mode: Literal["video", "audio", "none"] | str
    "`video`: video with audio. `audio`: audio only. `none`: nothing is recorded; the manifest has who was in the meeting, who spoke when, and chat messages and captions where they are enabled, and its offsets are relative to `timeline.admittedAt`. A job cannot record more than the service's setting allows."
    layout: Literal["speaker", "gallery", "content", "page"] | str
    "What the video shows. `speaker`: shared content or else the active speaker large, others small beside it. `gallery`: everyone in tiles of equal size. `content`: shared content as large as possible, beside the active speaker; without shared content as `speaker`. `page`: the meeting page as a participant sees it. Except with `page`, the bot's own tiles and the page's controls are hidden from the video."
    resolution: Literal["720p", "1080p"] | str
    "The size of the video, 1280x720 or 1920x1080. The video bit rate changes in proportion."
    participant_audio: bool
    "Whether the audio of each participant is recorded in separate files too."
    capture: Literal["tab", "streams"] | str
    "What is recorded of the video. `tab`: the picture of the meeting page. `streams`: the video of each participant as it is received, in a file of its own, which costs much less; there is no file with the whole picture. If the page does not let the bot take the streams, the bot records the picture."


class SharedPicture(TypedDict, total=False):
    "What the bot shares as its screen. Exactly one property is required."

    image: OutputFile
    "A PNG, JPEG, WebP, GIF or BMP image of up to 50 million pixels."
    page: OutputPage
    "A web page, which the bot opens at 1280x720 pixels in a browser session of its own. Others hear what it plays, and its microphone hears the meeting while that is recorded."
    none: bool
    "Ends the screen share."


class Simulation(TypedDict, total=False):
    "What happens to the simulated bot of a test job. With a live key, this option is invalid.\n"

    outcome: Literal["success", "lobby", "slow_meeting", "permission_granted", "permission_denied", "permission_timeout", "competing_bot", "output_failed", "transcript_failed", "duplicate_events", "disordered_events", "second_attempt", "lost_bot", "lost_bot_media_saved", "waiting_for_host", "meeting_not_found", "host_denied_admission", "removed_from_meeting", "meeting_ended", "internal_error", "dispatch_timeout", "network_loss", "recording_disabled", "lobby_timeout", "auth_failure", "quota_exceeded"] | str
    "What happens, `success` by default."
    seconds: float
    "The length of the meeting or of the wait in the lobby, in seconds. The default depends on the outcome."
    speed: float
    "How much faster than real time everything happens. 1 by default."
    permission: Literal["granted", "denied", "timeout"] | str
    "The host's answer to a request for permission to record. The default depends on the outcome."


class StreamOptions(TypedDict, total=False):
    "A receiver of the live sound of a meeting."

    url: Required[str]
    "The WebSocket of the receiver, to which the service connects when the recording starts. The request is signed with the webhook secret in the headers of Standard Webhooks, with an empty body."
    audio: Literal["mixed", "participants", "both"] | str
    "`mixed`, the default: all participants together. `participants`: each participant on its own, where the meeting page has it. `both`: both."
    sample_rate: Literal[8000, 16000, 24000, 32000, 48000] | str
    "Samples per second in both directions, by default 16000, and 24000 with `meetingbaas`, which takes no 8000. `recall` takes 16000 only, and `attendee` at most 24000."
    format: Literal["standin", "recall", "attendee", "meetingbaas"] | str
    "The protocol, by default `standin`. The others are the formats of Recall.ai, Attendee and Meeting BaaS (which has `mixed` sound only), so that receivers for them can be used."
    send: bool
    "Whether the receiver sends sound that the bot plays into the meeting. Default: false. Not with `recall`."
    events: Sequence[Literal["transcript", "caption", "chat", "participants", "speaking"] | str]
    "Events of `liveJob` that are sent as text messages beside the sound, from each connection on. `standin` has all of them, as the live stream does; `recall` all but `caption`; `meetingbaas` only `speaking`, which is its default; `attendee` none. The default of the others is none."


class TranscriptOptions(TypedDict, total=False):
    "The transcript that the service makes of the meeting, if its operator has configured a transcriber.\n"

    enabled: bool
    "Whether to transcribe the recording. Default: true."
    language: str
    "The language that is spoken, as a BCP 47 tag. By default the service's setting, or else detected."
    live: bool
    "Whether the meeting is also transcribed while it runs, with the events `transcript` of `liveJob`. Default: false. It has no effect unless the service's operator has configured a live transcriber."
    keyterms: Sequence[str]
    "Words and names that are likely to be said. Recognizers take them as a hint."


class WebhookEndpointCreate(TypedDict, total=False):
    "A webhook endpoint to register."

    url: Required[str]
    "The URL: http or https. It cannot be changed later."
    events: Required[Sequence[str]]
    "What to send. A meeting can cause many `participant.*`, `chat.message` and `transcript.data` events."
    description: str
    "What the endpoint is for."
    enabled: bool
    "Whether events are sent to it. Default: true."


class WebhookEndpointPatch(TypedDict, total=False):
    "Changes to a registered endpoint. Fields that are not set do not change."

    events: Sequence[str]
    "What to send. A meeting can cause many `participant.*`, `chat.message` and `transcript.data` events."
    description: str
    "What the endpoint is for."
    enabled: bool
    "Whether events are sent to it."


class Webhooks(TypedDict, total=False):
    "The URLs that receive the events of this job."

    on_status_change: str
    "Receives `job.status_changed`, `job.failed` and the `bot.*` events."
    on_finalize: str
    "Receives `job.finalized` and `job.failed`."
