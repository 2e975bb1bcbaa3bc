#!/bin/sh
# Writes the secrets of compose.cluster.yaml to deploy/.env, where compose reads them. Keep the
# file: the database and the store need the same secrets after a restart.
set -eu
cd "$(dirname "$0")"
if [ -e .env ]; then
	echo "deploy/.env exists already; nothing was changed" >&2
	exit 1
fi
umask 077
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
cat >.env <<END
POSTGRES_PASSWORD=$(secret)
STORAGE_SECRET=$(secret)
# All nodes that share the database need the same signing key.
STANDIN_INGEST_SIGNING_KEY=$(secret)
STANDIN_ADMIN_SECRET=$(secret)
# The group of the engine's socket.
DOCKER_GROUP=$(stat -c %g "${DOCKER_SOCKET:-/var/run/docker.sock}")
# How your programs and browsers reach the service.
STANDIN_BASE_URL=http://127.0.0.1:8080
END
echo "wrote deploy/.env"
