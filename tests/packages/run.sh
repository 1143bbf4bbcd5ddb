#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [FOLDER [SYSTEM...]]: install, use and remove the packages of FOLDER in
# bare systems: bookworm (Debian 12) and noble (Ubuntu 24.04), and so the wheel and
# the archive of the sources, where the folder has them. Without a folder,
# tools/build-packages makes the packages. It needs root, debootstrap and a network.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    echo "skip: this needs root and debootstrap"
    exit 77
fi
scratch=$(mktemp -d)
root=

leave() {
    [ -z "$root" ] || umount "$root/proc" "$root/sys" "$root/dev" 2>/dev/null || true
    rm -rf --one-file-system "$scratch"
}
trap leave EXIT
trap 'exit 1' HUP INT TERM

bootstrap() { # SYSTEM FOLDER
    case $1 in
    bookworm)
        debootstrap --variant=minbase bookworm "$2" \
            http://deb.debian.org/debian
        ;;
    noble)
        keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
        check=--no-check-gpg
        [ ! -e $keyring ] || check=--keyring=$keyring
        debootstrap --variant=minbase --components=main,universe $check \
            noble "$2" http://archive.ubuntu.com/ubuntu \
            /usr/share/debootstrap/scripts/gutsy
        ;;
    *)
        echo "run.sh: \"$1\" is neither bookworm nor noble" >&2
        exit 2
        ;;
    esac
}

packages=${1:-$scratch/packages}
[ $# -gt 0 ] || "$here/../../tools/build-packages" "$packages"
packages=$(cd "$packages" && pwd)
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- bookworm noble
for name; do
    root=$scratch/$name
    echo "== $name"
    bootstrap "$name" "$root" >"$scratch/log" 2>&1 || {
        tail "$scratch/log"
        exit 1
    }
    mkdir "$root/packages"
    cp "$packages"/* "$here/inside.sh" "$root/packages"
    # What pip trusts and asks here, it does there.
    [ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc"
    [ ! -f "${SSL_CERT_FILE:-}" ] ||
        cp "$SSL_CERT_FILE" "$root/packages/certificates"
    mount -t proc proc "$root/proc"
    mount --bind /sys "$root/sys" # PoCL ends the program where it is missing
    mount --bind /dev "$root/dev"
    chroot "$root" sh /packages/inside.sh
    umount "$root/proc" "$root/sys" "$root/dev"
    root=
done
