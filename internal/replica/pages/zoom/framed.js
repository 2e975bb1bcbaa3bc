// The page that app.zoom.us puts around the web client at times: all that can be
// seen is in the frame.

const address = new URL(location.href);
address.searchParams.set("inner", "1");

const frame = document.createElement("iframe");
frame.id = "webclient";
frame.className = "pwa-webclient__iframe";
frame.title = "Zoom web client";
frame.allow = "microphone; camera; autoplay; display-capture";
frame.src = address.href;
document.body.append(frame);
