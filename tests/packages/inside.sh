#!/bin/sh
# SPDX-License-Identifier: MIT
# inside.sh: what run.sh does in a bare system, as root. The packages are in
# /packages.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PYTHONDONTWRITEBYTECODE=1
cd /packages
if [ -f certificates ]; then # pip asks the second one first
    export PIP_CERT=$PWD/certificates REQUESTS_CA_BUNDLE=$PWD/certificates
fi

fail() {
    echo "failed: $*"
    exit 1
}

quietly() {
    "$@" >/packages/log 2>&1 || {
        tail -n 30 /packages/log
        fail "$*"
    }
}

# All files, but for those that apt and dpkg keep for themselves.
files() {
    find / -xdev \( -path /proc -o -path /dev -o -path /packages -o \
        -path /tmp -o -path /var/cache -o -path /var/log -o \
        -path /var/lib/apt -o -path /var/lib/dpkg/info -o -path /root \) \
        -prune -o -print | sort
}

names=$(for file in ./*.deb; do dpkg-deb -f "$file" Package; done)
wanted="libheadrace0.1 libheadrace-dev headrace libheadrace-blas python3-headrace
headrace-doc libheadrace-openmpi libheadrace-mpich"
for name in $wanted; do
    echo "$names" | grep -qx "$name" || fail "there is no package $name"
done

quietly apt-get update
# The dependencies first, so that what is left over later can be ours only.
quietly apt-get install -y --no-install-recommends gcc libc6-dev pkg-config \
    python3-numpy python3-cffi-backend libopenblas0-pthread \
    libopenmpi-dev openmpi-bin libmpich-dev mpich
quietly python3 -c 'import numpy'
files >before
quietly apt-get install -y --no-install-recommends ./*.deb

# The command.
headrace --version
quietly headrace generate --shape 300x200 --type f32 --seed 1 -o a.npy
quietly headrace generate --shape 200x100 --type f32 --seed 2 -o b.npy
quietly headrace matmul a.npy b.npy -o c.npy --verify
for page in headrace headrace-bench headrace-report; do
    [ -f /usr/share/man/man1/$page.1.gz ] || fail "no manual of $page"
done

# The library.
cat >program.c <<'P'
#include <headrace/headrace.h>
#include <stdio.h>
int main(void)
{
    printf("library %s\n", hr_version());
    return 0;
}
P
# shellcheck disable=SC2046
quietly cc program.c -o program $(pkg-config --cflags --libs headrace)
./program

# Over processes.
cat >processes.c <<'P'
#include <headrace/mpi.h>
#include <stdio.h>
int main(void)
{
    hr_mpi_context *context = NULL;
    MPI_Init(NULL, NULL);
    const hr_status status =
        hr_mpi_context_create(MPI_COMM_WORLD, NULL, &context);
    hr_mpi_context_destroy(context);
    MPI_Finalize();
    return status == HR_OK ? 0 : 1;
}
P
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm=isolated
for mpi in openmpi mpich; do
    # shellcheck disable=SC2046
    quietly mpicc.$mpi processes.c -o processes \
        $(pkg-config --cflags --libs headrace_mpi_$mpi)
    quietly mpirun.$mpi -n 2 ./processes
    quietly env LD_PRELOAD=libheadrace_pblas_$mpi.so ./processes
done

# Python.
cat >script.py <<'P'
import numpy
import headrace
a = numpy.load("a.npy")
b = numpy.load("b.npy")
c = numpy.load("c.npy")
assert numpy.allclose(headrace.matmul(a, b), a @ b, rtol=1e-4, atol=1e-4)
assert numpy.allclose(c, a @ b, rtol=1e-4, atol=1e-4)
print("Python", headrace.__version__, "with NumPy", numpy.__version__)
P
python3 script.py

# The BLAS of the system: never chosen by itself, then chosen.
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null ||
    gcc -print-multiarch)
link=libblas.so.3-$triplet
ours=/usr/lib/$triplet/headrace/libblas.so.3
cat >blas.py <<'P'
import numpy
rng = numpy.random.default_rng(1)
a = rng.random((600, 600))
x = rng.random(600)
assert numpy.allclose(numpy.linalg.solve(a, a @ x), x)
c = a @ a
assert numpy.allclose(c[:3], [[sum(r * a[:, j]) for j in range(600)]
                              for r in a[:3]])
P
update-alternatives --query "$link" | grep -q "^Value: .*openblas" ||
    fail "OpenBLAS is not the BLAS after the installation"
HEADRACE_LOG=1 python3 blas.py 2>log || fail "NumPy with OpenBLAS"
! grep -q headrace: log || fail "NumPy uses Headrace without being told"
quietly update-alternatives --set "$link" "$ours"
quietly ldconfig
HEADRACE_LOG=1 HEADRACE_BLAS_FORCE=1 python3 blas.py 2>log || {
    cat log
    fail "NumPy with Headrace"
}
grep 'dgemm.* 600 x 600 x 600: accelerators' log | head -n 1 | grep . || {
    cat log
    fail "no product of NumPy went to the accelerators"
}
quietly update-alternatives --auto "$link"
HEADRACE_LOG=1 HEADRACE_BLAS_FORCE=1 python3 -m headrace blas.py 2>log ||
    fail "python3 -m headrace"
grep -q 'dgemm.* accelerators' log || fail "python3 -m headrace: no product"

# Gone without a trace, also while our BLAS is the chosen one.
quietly update-alternatives --set "$link" "$ours"
# shellcheck disable=SC2086
quietly apt-get purge -y $wanted
files >after
diff before after || fail "the packages left files behind"
quietly python3 blas.py
echo "removed; nothing is left"

# A wheel, in an environment of its own.
for wheel in ./*.whl; do
    [ -f "$wheel" ] || continue
    quietly apt-get install -y --no-install-recommends python3-venv
    quietly python3 -m venv ./environment
    since=$(date +%s)
    quietly ./environment/bin/pip install "$wheel"
    echo "pip install: $(($(date +%s) - since)) s"
    ./environment/bin/python script.py
    HEADRACE_LOG=1 HEADRACE_BLAS_FORCE=1 ./environment/bin/python -m headrace \
        blas.py 2>log || fail "python -m headrace, of the wheel"
    quietly ./environment/bin/pip uninstall -y headrace
    ! find ./environment -name '*headrace*' | grep . ||
        fail "the wheel left files behind"
done

# The sources: the demo installs what it needs, and builds.
for archive in ./headrace-*.tar.gz; do
    [ -f "$archive" ] || continue
    tar -xzf "$archive"
    (cd ./headrace-*/ && quietly ./demo)
    echo "the demo of the sources: all is well"
done
