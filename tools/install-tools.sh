# SPDX-License-Identifier: MIT
# Sourced by ./demo and ./check: the tools that they need, and how to install
# them. If nothing is missing, nothing is run and no network is used.
# shellcheck shell=sh

# purpose, command or file (a pattern; "-": ask dpkg for the package), package.
#   build  both need it to build
#   run    both work without it, with fewer accelerators, slower, or with fewer
#          examples
#   check  only ./check needs it
#   tests  ./check works without it, and tests less
#   long   ./check long works without it, and tries no packages in bare systems,
#          and looks at no page of the site
tools_table() {
    cat <<'TABLE'
build gcc gcc
build /usr/include/stdio.h libc6-dev
build cmake cmake
build ninja ninja-build
run - libopenblas0-pthread
run - ocl-icd-libopencl1
run - pocl-opencl-icd
run /usr/include/png.h libpng-dev
check git git
check clang clang
check - libclang-rt-dev
check clang-format-14 clang-format-14
check clang-tidy-14 clang-tidy-14
check cppcheck cppcheck
check doxygen doxygen
check pkg-config pkg-config
check python3 python3
check - python3-numpy
tests - libclblast1
tests /usr/share/i18n/locales/de_DE locales
tests - libfftw3-single3
tests - libfftw3-double3
tests - libblas3
tests - libblas-test
tests - python3-matplotlib
tests - python3-pytest
tests - python3-cffi
tests - python3-dev
tests - python3-sphinx
tests - python3-breathe
tests - python3-myst-parser
tests - furo
tests /usr/bin/mpicc.openmpi libopenmpi-dev
tests /usr/bin/mpirun.openmpi openmpi-bin
tests /usr/bin/mpicc.mpich libmpich-dev
tests /usr/bin/mpirun.mpich mpich
tests /usr/bin/smpicc libsimgrid-dev
tests - libscalapack-openmpi-dev
tests - libscalapack-mpich-dev
tests - python3-mpi4py
tests octave-cli octave
tests Rscript r-base-core
tests musl-gcc musl-tools
long /usr/sbin/debootstrap debootstrap
long dpkg-buildpackage dpkg-dev
long dh debhelper
long dh_python3 dh-python
long chromium chromium
TABLE
}

tool_is_there() {
    case $1 in
    -) dpkg-query -W -f '${Status}' "$2" 2>/dev/null |
        grep -q 'install ok installed' ;;
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# missing_packages PURPOSE...: the packages that have to be installed.
missing_packages() {
    tools_table | while read -r purpose thing package; do
        case " $* " in
        *" $purpose "*) tool_is_there "$thing" "$package" || echo "$package" ;;
        esac
    done
}

# apt_get ARGUMENT...: apt-get as root, without questions. Errors are shown.
apt_get() {
    set -- env DEBIAN_FRONTEND=noninteractive apt-get \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -qq "$@"
    if [ "$(id -u)" -ne 0 ]; then
        if [ -t 0 ]; then
            set -- sudo "$@"
        else
            set -- sudo -n "$@"
        fi
    fi
    "$@" </dev/null >/dev/null
}

# apt_install PACKAGE...
apt_install() {
    apt_get install -y --no-install-recommends "$@"
}

# why_no_apt: the reason why nothing can be installed here. Empty: there is
# none.
why_no_apt() {
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "this system has no apt-get"
    elif [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null 2>&1; then
        echo "you are not root and there is no sudo"
    fi
}

# install_tools PURPOSE...: install what is missing for these purposes and,
# where possible, what is optional. Fails with a message when something that is
# needed is missing and cannot be installed.
# shellcheck disable=SC2086 # lists of packages are split into words
install_tools() {
    needed=
    wanted=run
    for purpose; do
        case $purpose in
        long) wanted="$wanted long" ;;
        check) needed="$needed check" wanted="$wanted tests" ;;
        *) needed="$needed $purpose" ;;
        esac
    done
    needed=$(missing_packages $needed | tr '\n' ' ')
    wanted=$(missing_packages $wanted | tr '\n' ' ')
    [ -n "$needed$wanted" ] || return 0
    reason=$(why_no_apt)
    if [ -n "$reason" ] && [ -n "$needed" ]; then
        echo "Please install these packages ($reason): $needed" >&2
        return 1
    elif [ -n "$reason" ]; then
        echo "Going on without $wanted($reason)."
        return 0
    fi
    echo "apt will install: $needed$wanted"
    apt_get update || echo "apt-get update failed; trying all the same."
    if [ -n "$needed" ] && ! apt_install $needed; then
        echo "apt-get could not install all of: $needed" >&2
        return 1
    fi
    if [ -n "$wanted" ] && ! apt_install $wanted; then
        for package in $wanted; do
            apt_install "$package" || echo "Going on without $package."
        done
    fi
}
