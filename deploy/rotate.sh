#!/bin/sh
# Makes a secret of the stack anew while it runs, and starts again, one after another, what reads it at a start:
#   sh deploy/rotate.sh admin|certificate|database|reader|relay|relay-metrics
set -eu
cd "$(dirname "$0")/.."

anew() { docker compose run --rm --no-deps rotate "$1"; }
restart() {
    for container in $(docker compose ps --quiet "$1"); do
        docker restart "$container" >/dev/null
        tries=600
        until [ "$(docker inspect --format '{{.State.Health.Status}}' "$container")" = healthy ]; do
            tries=$((tries - 1))
            [ $tries -gt 0 ] || { echo "The $1 does not start: docker compose logs $1" >&2; exit 1; }
            sleep 1
        done
    done
}

case ${1-} in
    admin)
        anew admin
        restart curator ;;
    certificate)
        docker compose run --rm --no-deps --entrypoint sh secrets -c 'rm /run/privet/tls/* && sh /secrets.sh'
        docker compose kill --signal HUP proxy ;;
    database | reader) anew "$1" ;;
    relay | relay-metrics)
        anew "$1"
        restart relay ;;
    *)
        sed -n 2,3p "$0"
        exit 2 ;;
esac
echo "The secret \`$1\` is another one now."
