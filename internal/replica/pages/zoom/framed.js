// The page that embeds the web client in a frame, like app.zoom.us sometimes does.

const address = new URL(location.href);
address.searchParams.set("inner", "1");

const frame = document.createElement("iframe");
frame.id = "webclient";
frame.className = "pwa-webclient__iframe";
frame.title = "Zoom web client";
frame.allow = "microphone; camera; autoplay; display-capture";
frame.src = address.href;
document.body.append(frame);
