// Attempts to connect to each host in every way that a page has, and returns the
// attempts that succeeded. The server detects attempts whose result a page cannot
// observe. Over HTTPS, it connects to the first host in every way, and to the others by
// fetch: the scheme only changes how a request reaches the proxy.
async ({hosts, port, udpPort}) => {
	const answered = [];
	const timeoutMs = 15000;
	const within = promise => Promise.race([promise, new Promise(resolve => setTimeout(resolve, timeoutMs))]);
	const element = (name, properties) => {
		const made = Object.assign(document.createElement(name), properties);
		document.body.append(made);
		return made;
	};
	const settled = (target, yes, no, way) => within(new Promise(resolve => {
		target.addEventListener(yes, () => { if (way) answered.push(way); resolve(); });
		target.addEventListener(no, resolve);
	}));
	const redirected = address => "/redirect?to=" + encodeURIComponent(address);

	const ways = (host, base) => [
		() => within(fetch(base + "fetch", {mode: "no-cors"}).then(() => answered.push("fetch " + host), () => {})),
		() => within(fetch(redirected(base + "redirected"), {mode: "no-cors"}).then(() => answered.push("redirected " + host), () => {})),
		() => settled(element("img", {src: base + "image"}), "load", "error", "image " + host),
		() => settled(element("script", {src: base + "script"}), "load", "error", "script " + host),
		() => settled(element("link", {rel: "prefetch", href: base + "prefetch"}), "load", "error", ""),
		() => settled(element("link", {rel: "stylesheet", href: base + "style"}), "load", "error", ""),
		() => settled(element("iframe", {src: base + "frame"}), "load", "error", ""),
		() => settled(element("iframe", {src: redirected(base + "frame")}), "load", "error", ""),
		() => settled(new WebSocket(base.replace("http", "ws") + "websocket"), "open", "error", "websocket " + host),
		() => settled(new EventSource(base + "eventsource"), "open", "error", "eventsource " + host),
		() => { navigator.sendBeacon(base + "beacon", "x"); },
		() => {
			const frame = element("iframe", {name: "frame" + Math.random()});
			element("form", {action: base + "form", method: "post", target: frame.name}).submit();
			return settled(frame, "load", "error", "");
		},
		() => {
			const code = `fetch("${base}worker", {mode: "no-cors"}).then(() => postMessage("answered"), () => postMessage(""))`;
			const worker = new Worker(URL.createObjectURL(new Blob([code], {type: "text/javascript"})));
			return within(new Promise(resolve => worker.onmessage = e => {
				if (e.data) answered.push("worker " + host);
				resolve();
			}));
		},
		() => { element("link", {rel: "dns-prefetch", href: base}); element("link", {rel: "preconnect", href: base}); },
		() => { open(base + "popup", "_blank"); },
	];

	// WebRTC: STUN and TURN servers, and candidates of a peer that does not exist.
	const gather = async urls => {
		const peer = new RTCPeerConnection({iceServers: [{urls, username: "u", credential: "c"}]});
		peer.createDataChannel("x");
		await peer.setLocalDescription();
		return peer;
	};
	const candidates = async host => {
		const near = new RTCPeerConnection(), far = new RTCPeerConnection();
		near.createDataChannel("x");
		await near.setLocalDescription();
		await far.setRemoteDescription(near.localDescription);
		await far.setLocalDescription();
		await near.setRemoteDescription(far.localDescription);
		const bare = host.replace(/[[\]]/g, "");
		for (const candidate of [
			`candidate:1 1 udp 2122260223 ${bare} ${udpPort} typ host`,
			`candidate:2 1 tcp 2122260222 ${bare} ${port} typ host tcptype passive`,
		]) {
			await near.addIceCandidate({candidate, sdpMid: "0", sdpMLineIndex: 0}).catch(() => {});
		}
		return near;
	};
	const media = async host => {
		const peers = [
			await gather([`stun:${host}:${udpPort}`]).catch(() => null),
			await gather([`turn:${host}:${udpPort}?transport=udp`]).catch(() => null),
			await gather([`turn:${host}:${port}?transport=tcp`, `turns:${host}:${port}?transport=tcp`]).catch(() => null),
			await candidates(host),
		];
		await new Promise(resolve => setTimeout(resolve, 5000));
		peers.forEach(peer => peer && peer.close());
	};
	const transport = async host => {
		const opened = new WebTransport(`https://${host}:${udpPort}/`);
		opened.closed.catch(() => {});
		await within(opened.ready.then(() => answered.push("webtransport " + host), () => {}));
	};

	await Promise.all(hosts.flatMap(host => [
		...ways(host, `http://${host}:${port}/`).map(way => Promise.resolve().then(way)),
		...ways(host, `https://${host}:${port}/`).slice(0, host === hosts[0] ? undefined : 2).map(way => Promise.resolve().then(way)),
		media(host), transport(host),
	]).map(attempt => attempt.catch(() => {})));
	return answered;
}
