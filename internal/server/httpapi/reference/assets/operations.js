// The operations of an API description, as the code samples and the form that sends requests need them.

const methods = ["get", "post", "put", "patch", "delete"];

// resolve follows the references of a description.
const resolve = (description, value) => {
	while (value?.$ref) value = value.$ref.slice(2).split("/").reduce((found, name) => found[name], description);
	return value;
};

// operations returns the operations of a description.
export const operations = description => Object.entries(description.paths).flatMap(([path, item]) => methods.filter(method => item[method]).map(method => {
	const operation = item[method];
	const content = resolve(description, operation.requestBody)?.content ?? {};
	const examples = Object.values(content["application/json"]?.examples ?? {});
	const success = Object.keys(operation.responses).find(status => status < "300");
	return {
		operation, path, method: method.toUpperCase(), id: operation.operationId, title: operation.summary,
		parameters: [...item.parameters ?? [], ...operation.parameters ?? []].map(one => resolve(description, one)),
		security: Object.keys(operation.security?.[0] ?? {})[0],
		body: resolve(description, examples[0])?.value,
		acceptsJSON: "application/json" in content, acceptsFiles: Object.keys(content).some(type => type !== "application/json"),
		returns: Object.keys(resolve(description, operation.responses[success])?.content ?? {})[0], success,
	};
}));
