#!/bin/sh
# Makes the stack's missing secrets, each in a volume that only its readers mount, and keeps those that
# exist. Makes the folder of backups writable for the stack.
set -eu
cd /run/privet
umask 077

make() {  # make FILE MODE COMMAND...: what the command prints becomes a secret of user 1000, or nothing does
    file=$1 mode=$2
    shift 2
    if [ ! -s "$file" ]; then
        "$@" >"$file.new"
        chown 1000 "$file.new"
        chmod "$mode" "$file.new"
        mv "$file.new" "$file"
    fi
}
random() { python -c 'import secrets; print(secrets.token_urlsafe(32))'; }

make database/password 444 random  # read by users that other images choose, as is the next
make relay-metrics/token 444 random
make curator/pgpass 600 echo "database:5432:*:privet:$(cat database/password)"
make admin/token 600 random
[ -s curator/signing.key ] || { privet key make curator/signing.key >/dev/null && chown 1000 curator/signing.key; }
if [ ! -s tls/certificate.pem ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj "/CN=Privet" \
        -addext "subjectAltName=DNS:proxy,DNS:localhost,IP:127.0.0.1${STACK_NAME:+,DNS:$STACK_NAME}" \
        -keyout tls/key.pem -out tls/certificate.new 2>/dev/null
    chown 1000 tls/key.pem tls/certificate.new
    mv tls/certificate.new tls/certificate.pem
fi
cp tls/certificate.pem trust/certificate.pem
chmod 444 trust/certificate.pem
chown 1000 admin curator relay reader tls
chown -R 1000 /backups
chmod 700 /backups
