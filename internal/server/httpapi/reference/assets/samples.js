// Code samples in the languages that the description lacks.
import {operations} from "./operations.js";

// The header that carries the secret of a security scheme, and the variable that has it.
const secrets = {
	apiKey: {header: "Authorization", prefix: "Bearer ", variable: "STANDIN_API_KEY"},
	intakeSecret: {header: "x-service-intake-secret", prefix: "", variable: "STANDIN_INTAKE_SECRET"},
	adminSecret: {header: "x-service-admin-secret", prefix: "", variable: "STANDIN_ADMIN_SECRET"},
};

// target returns the path and query of a request with the examples of its parameters.
const target = ({path, parameters}) => {
	const query = new URLSearchParams();
	for (const {name, in: where, required, example} of parameters) {
		if (where === "path") path = path.replace(`{${name}}`, encodeURIComponent(example));
		if (where === "query" && required) query.set(name, example);
	}
	return query.size > 0 ? `${path}?${query}` : path;
};

const isJSON = type => type?.endsWith("json") ?? false;
const isFile = type => /^(image|audio|video|application\/octet)/.test(type ?? "");
const fileName = type => `response.${type.split("/")[1].replace("jpeg", "jpg")}`;

const curl = (one, secret) => {
	const lines = [`curl -fsS ${one.method === "GET" || one.method === "POST" && one.body ? "" : `-X ${one.method} `}"$STANDIN_URL${target(one)}"`];
	if (secret) lines.push(`-H "${secret.header}: ${secret.prefix}$${secret.variable}"`);
	if (one.body) lines.push(`-d '${JSON.stringify(one.body).replaceAll("'", `'\\''`)}'`);
	if (isFile(one.returns)) lines.push(`-o ${fileName(one.returns)}`);
	return lines.join(" \\\n  ");
};

// literal returns a JSON value as a literal of Python.
const literal = value => {
	if (value === null) return "None";
	if (value === true) return "True";
	if (value === false) return "False";
	if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
	if (typeof value === "object") return `{${Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${literal(field)}`).join(", ")}}`;
	return JSON.stringify(value);
};

const python = (one, secret) => {
	const lines = ["import os", "", "import requests", "", `url = os.environ["STANDIN_URL"]`];
	if (secret) lines.push(`headers = {"${secret.header}": ${secret.prefix ? `"${secret.prefix}" + ` : ""}os.environ["${secret.variable}"]}`);
	lines.push(`response = requests.${one.method.toLowerCase()}(url + "${target(one)}"${secret ? ", headers=headers" : ""}${one.body ? `, json=${literal(one.body)}` : ""}, timeout=30)`);
	lines.push("response.raise_for_status()");
	if (isJSON(one.returns)) lines.push("print(response.json())");
	else if (isFile(one.returns)) lines.push(`with open("${fileName(one.returns)}", "wb") as file:`, "    file.write(response.content)");
	else if (one.returns) lines.push("print(response.text)");
	return lines.join("\n");
};

const typescript = (one, secret) => {
	const options = [];
	if (one.method !== "GET") options.push(`method: "${one.method}"`);
	if (secret) options.push(`headers: {"${secret.header}": ${secret.prefix ? `\`${secret.prefix}\${${secret.variable}}\`` : `${secret.variable} ?? ""`}}`);
	if (one.body) options.push(`body: JSON.stringify(${JSON.stringify(one.body)})`);
	const file = isFile(one.returns);
	const lines = file ? [`import {writeFile} from "node:fs/promises";`, ""] : [];
	lines.push(`const {${["STANDIN_URL", ...secret ? [secret.variable] : []].join(", ")}} = process.env;`);
	lines.push(options.length === 0 ? `const response = await fetch(\`\${STANDIN_URL}${target(one)}\`);` : `const response = await fetch(\`\${STANDIN_URL}${target(one)}\`, {\n  ${options.join(",\n  ")},\n});`);
	lines.push("if (!response.ok) throw new Error(await response.text());");
	if (file) lines.push(`await writeFile("${fileName(one.returns)}", Buffer.from(await response.arrayBuffer()));`);
	else if (one.returns) lines.push(`console.log(await response.${isJSON(one.returns) ? "json" : "text"}());`);
	return lines.join("\n");
};

const go = (one, secret) => `package main

import (
    "io"
    "log"
    "net/http"
    "os"${one.body ? `\n    "strings"` : ""}
)

func main() {
    request, err := http.NewRequest("${one.method}", os.Getenv("STANDIN_URL")+"${target(one)}", ${one.body ? `strings.NewReader(\`${JSON.stringify(one.body)}\`)` : "nil"})
    if err != nil {
        log.Fatal(err)
    }
${secret ? `    request.Header.Set("${secret.header}", ${secret.prefix ? `"${secret.prefix}"+` : ""}os.Getenv("${secret.variable}"))\n` : ""}    response, err := http.DefaultClient.Do(request)
    if err != nil {
        log.Fatal(err)
    }
    defer response.Body.Close()
    if response.StatusCode >= 300 {
        log.Fatal(response.Status)
    }
    if _, err := io.Copy(os.Stdout, response.Body); err != nil {
        log.Fatal(err)
    }
}`;

// listener is the sample of an operation that becomes a WebSocket.
const listener = (one, secret) => `import asyncio
import os

import websockets


async def main():
    url = os.environ["STANDIN_URL"].replace("http", "ws", 1) + "${target(one)}"
    headers = {"${secret.header}": "${secret.prefix}" + os.environ["${secret.variable}"]}
    async with websockets.connect(url, additional_headers=headers) as socket:
        async for message in socket:
            print(message if isinstance(message, str) else f"{len(message)} bytes")


asyncio.run(main())`;

// addSamples adds a sample in each language in which an operation has none. What only bots and payment providers send has no
// samples.
export const addSamples = description => {
	for (const one of operations(description)) {
		const secret = secrets[one.security];
		if (one.security && !secret || one.acceptsFiles) continue;
		if (one.success < "200") {
			one.operation["x-codeSamples"] = [{lang: "Python", label: "Python", source: listener(one, secret)}];
			continue;
		}
		const own = one.operation["x-codeSamples"] ?? [];
		const made = [
			{lang: "Shell", label: "curl", source: curl(one, secret)}, {lang: "Python", label: "Python", source: python(one, secret)},
			{lang: "TypeScript", label: "TypeScript", source: typescript(one, secret)}, {lang: "Go", label: "Go", source: go(one, secret)},
		];
		one.operation["x-codeSamples"] = [...own, ...made.filter(({label}) => !own.some(sample => sample.label === label))];
	}
};
