// SPDX-License-Identifier: MIT
// headrace-bench-cub N REPEAT: what CUB and Thrust take on the first GPU for the
// calls of `headrace bench calls`, on N random elements that lie there. A line
// for each: NAME TYPE SECONDS, of the best call after the first one. bench/run-gpu
// compiles it with nvcc.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/inner_product.h>
#include <thrust/transform.h>

static int repeat;

static void report(const char *name, const char *type,
                   const std::function<void()> &call)
{
    double best = 0;
    for (int i = 0; i <= repeat; i++) {
        const auto start = std::chrono::steady_clock::now();
        call();
        if (cudaDeviceSynchronize() != cudaSuccess) {
            return;
        }
        const double seconds = std::chrono::duration<double>(
                                   std::chrono::steady_clock::now() - start)
                                   .count();
        best = i <= 1 || seconds < best ? seconds : best;
    }
    std::printf("%s %s %.9f\n", name, type, best);
}

// CUB's calls ask for their memory first. It is kept.
struct memory {
    void *data = nullptr;
    size_t bytes = 0;
    template <typename Call> void run(Call call)
    {
        size_t wanted = 0;
        call(nullptr, wanted);
        if (wanted > bytes) {
            cudaFree(data);
            cudaMalloc(&data, wanted);
            bytes = wanted;
        }
        call(data, wanted);
    }
};

// Numbers from 0 to 1 with all their bits random: sorting by digits that are all
// the same would take less time.
template <typename T> struct uniform {
    uint64_t seed;
    __host__ __device__ T operator()(long i) const
    {
        const int digits = sizeof(T) == 4 ? 24 : 53;
        uint64_t x = (seed << 40) + uint64_t(i) * 0x9e3779b97f4a7c15;
        for (int round = 0; round < 3; round++) {
            x = (x ^ x >> 31) * 0xd6e8feb86659fd93;
        }
        x ^= x >> 32;
        return T(x >> (64 - digits)) / T(1ull << digits);
    }
};

template <typename T> static void measure(const char *type, long n)
{
    thrust::device_vector<T> x(n), y(n), out(n);
    thrust::device_vector<int> keys(n), sorted(n);
    thrust::device_vector<unsigned long long> bins(256);
    thrust::device_vector<double> result(1);
    thrust::device_vector<cub::KeyValuePair<int, T>> place(1);
    memory m;
    thrust::counting_iterator<long> from(0);
    thrust::transform(from, from + n, x.begin(), uniform<T>{1});
    thrust::transform(from, from + n, y.begin(), uniform<T>{2});
    thrust::transform(x.begin(), x.end(), keys.begin(),
                      [] __device__(T v) { return int(v * T(2147483000)); });
    const T *px = thrust::raw_pointer_cast(x.data());
    const T *py = thrust::raw_pointer_cast(y.data());
    T *po = thrust::raw_pointer_cast(out.data());
    double *pr = thrust::raw_pointer_cast(result.data());
    double home = 0;
    const auto bring = [&] {
        cudaMemcpy(&home, pr, sizeof home, cudaMemcpyDeviceToHost);
    };
    report("sum", type, [&] {
        m.run([&](void *d, size_t &b) {
            cub::DeviceReduce::Sum(d, b, px, pr, (int)n);
        });
        bring();
    });
    report("dot", type, [&] {
        const auto products = thrust::make_transform_iterator(
            thrust::make_zip_iterator(thrust::make_tuple(px, py)),
            [] __device__(const thrust::tuple<T, T> &t) {
                return double(thrust::get<0>(t)) * double(thrust::get<1>(t));
            });
        m.run([&](void *d, size_t &b) {
            cub::DeviceReduce::Sum(d, b, products, pr, (int)n);
        });
        bring();
    });
    report("norm", type, [&] {
        const auto squares = thrust::make_transform_iterator(
            px, [] __device__(T v) { return double(v) * double(v); });
        m.run([&](void *d, size_t &b) {
            cub::DeviceReduce::Sum(d, b, squares, pr, (int)n);
        });
        bring();
    });
    report("max", type, [&] {
        m.run([&](void *d, size_t &b) {
            cub::DeviceReduce::Max(d, b, px, po, (int)n);
        });
        cudaMemcpy(&home, po, sizeof(T), cudaMemcpyDeviceToHost);
    });
    report("argmin", type, [&] {
        m.run([&](void *d, size_t &b) {
            cub::DeviceReduce::ArgMin(
                d, b, px, thrust::raw_pointer_cast(place.data()), (int)n);
        });
        cudaMemcpy(&home, thrust::raw_pointer_cast(place.data()), sizeof home,
                   cudaMemcpyDeviceToHost);
    });
    report("scan", type, [&] {
        m.run([&](void *d, size_t &b) {
            cub::DeviceScan::InclusiveSum(d, b, px, po, (int)n);
        });
    });
    report("sort", type, [&] {
        m.run([&](void *d, size_t &b) {
            cub::DeviceRadixSort::SortKeys(d, b, px, po, (int)n);
        });
    });
    report("sort_by_key", type, [&] {
        m.run([&](void *d, size_t &b) {
            cub::DeviceRadixSort::SortPairs(
                d, b, px, po, thrust::raw_pointer_cast(keys.data()),
                thrust::raw_pointer_cast(sorted.data()), (int)n);
        });
    });
    report("histogram", type, [&] {
        m.run([&](void *d, size_t &b) {
            cub::DeviceHistogram::HistogramEven(
                d, b, px, thrust::raw_pointer_cast(bins.data()), 257, T(0),
                T(1), (int)n);
        });
    });
    report("fill", type,
           [&] { thrust::fill(out.begin(), out.end(), T(1.5)); });
    cudaFree(m.data);
}

int main(int argc, char **argv)
{
    if (argc != 3 || cudaSetDevice(0) != cudaSuccess) {
        return 1;
    }
    repeat = std::atoi(argv[2]);
    measure<float>("f32", std::atol(argv[1]));
    measure<double>("f64", std::atol(argv[1]));
    return 0;
}
