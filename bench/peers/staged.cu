// SPDX-License-Identifier: MIT
// headrace-bench-staged UP DOWN REPEAT: seconds in which so many bytes go to the
// first GPU and so many come from it, at once, from and to ordinary memory. No
// kernel runs, and no part waits for another one. It is what threads reach that
// copy chunks to and from pinned memory, the best of several numbers of threads
// and REPEAT tries. bench/run-gpu compiles it with nvcc.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <emmintrin.h>

static const size_t chunk = 2 << 20;
enum { AHEAD = 3 }; // chunks of a thread that may be on the link

// One direction: ordinary memory, where the next chunk is, and a stream.
struct way {
    bool up;
    std::vector<char> memory;
    std::atomic<size_t> next{0};
    std::mutex lock;
    cudaStream_t stream;
    char *device;
    way(bool is_up, size_t bytes) : up(is_up), memory(bytes, 1)
    {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaMalloc(&device, 16 * chunk);
    }
};

// Past the caches: nothing reads it soon. `to` is a multiple of 16.
static void copy_home(char *to, const char *from, size_t bytes)
{
    size_t at = 0;
    for (; at + 16 <= bytes; at += 16) {
        const __m128i *f = (const __m128i *)(from + at);
        _mm_stream_si128((__m128i *)(to + at), _mm_loadu_si128(f));
    }
    std::memcpy(to + at, from + at, bytes - at);
    _mm_sfence();
}

struct helper {
    way &of;
    char *pinned;
    cudaEvent_t events[AHEAD];
    size_t at[AHEAD], bytes[AHEAD], sent = 0, arrived = 0;
    bool send()
    {
        const size_t first = of.next.fetch_add(chunk), slot = sent % AHEAD;
        if (first >= of.memory.size()) {
            return false;
        }
        char *host = pinned + slot * chunk;
        char *device = of.device + first % (16 * chunk);
        at[slot] = first;
        bytes[slot] = std::min(chunk, of.memory.size() - first);
        if (of.up) {
            std::memcpy(host, of.memory.data() + first, bytes[slot]);
        }
        std::lock_guard<std::mutex> guard(of.lock);
        cudaMemcpyAsync(of.up ? device : host, of.up ? host : device,
                        bytes[slot], cudaMemcpyDefault, of.stream);
        cudaEventRecord(events[slot], of.stream);
        sent++;
        return true;
    }
    void receive()
    {
        const size_t slot = arrived++ % AHEAD;
        while (cudaEventQuery(events[slot]) == cudaErrorNotReady) {
        }
        if (!of.up) {
            copy_home(of.memory.data() + at[slot], pinned + slot * chunk,
                      bytes[slot]);
        }
    }
    void run()
    {
        bool more = true;
        while (more || arrived < sent) {
            if (!more || sent - arrived == AHEAD) {
                receive();
            }
            more = more && send();
        }
    }
};

static double run(way &up, way &down, int ups, int downs, char *pinned)
{
    std::vector<helper> helpers;
    std::vector<std::thread> threads;
    up.next = down.next = 0;
    for (int i = 0; i < ups + downs; i++) {
        helpers.push_back({i < ups ? up : down, pinned + i * AHEAD * chunk});
        for (auto &event : helpers[i].events) {
            cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        }
    }
    const auto start = std::chrono::steady_clock::now();
    for (auto &w : helpers) {
        threads.emplace_back(&helper::run, &w);
    }
    for (auto &t : threads) {
        t.join();
    }
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    for (auto &w : helpers) {
        for (auto &event : w.events) {
            cudaEventDestroy(event);
        }
    }
    return seconds.count();
}

int main(int argc, char **argv)
{
    if (argc != 4 || cudaSetDevice(0) != cudaSuccess) {
        return 1;
    }
    const int cpus = std::max(4, (int)std::thread::hardware_concurrency());
    const int repeat = std::atoi(argv[3]);
    way up(true, std::strtoull(argv[1], nullptr, 10));
    way down(false, std::strtoull(argv[2], nullptr, 10));
    char *pinned;
    if (cudaMallocHost(&pinned, 2 * (size_t)cpus * AHEAD * chunk) !=
        cudaSuccess) {
        return 1;
    }
    double best = 1e9;
    for (int ups : {cpus / 2, cpus * 9 / 16, cpus * 11 / 16}) {
        for (int downs : {cpus / 4, cpus * 5 / 16}) {
            for (int i = 0; i < repeat; i++) {
                best = std::min(best, run(up, down, ups, downs, pinned));
            }
        }
    }
    if (cudaDeviceSynchronize() != cudaSuccess) {
        return 1;
    }
    std::printf("%.9f\n", best);
    return 0;
}
