// The programs of src/peers.rs on tasks of oneTBB, which do not wait for each other but for those that
// they began: ping-pong has no counterpart.
#include <mutex>
#include <numeric>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "programs.hpp"

static unsigned long skynet(unsigned long first, unsigned long leaves) {
    if (leaves == 1)
        return first;
    unsigned long sums[CHILDREN];
    leaves /= CHILDREN;
    tbb::task_group group;
    for (unsigned long child = 0; child < CHILDREN; child++)
        group.run([=, &sums] { sums[child] = skynet(first + child * leaves, leaves); });
    group.wait();
    return std::accumulate(sums, sums + CHILDREN, 0UL);
}

static void contention() {
    std::mutex lock;
    unsigned long count = 0;
    tbb::task_group group;
    for (unsigned contender = 0; contender < CONTENDERS; contender++)
        group.run([&] {
            for (unsigned turn = 0; turn < TURNS; turn++) {
                std::lock_guard<std::mutex> held(lock);
                count++;
            }
        });
    group.wait();
    check(count == (unsigned long)CONTENDERS * TURNS);
}

static void fork_join() {
    for (unsigned round = 0; round < ROUNDS; round++) {
        tbb::task_group group;
        for (unsigned fork = 0; fork < FORKS; fork++)
            group.run([] {});
        group.wait();
    }
}

static void pipeline() {
    unsigned made = 0, seen = 0;
    auto mode = tbb::filter_mode::serial_in_order;
    tbb::filter<unsigned, unsigned> stages(mode, [](unsigned entry) { return entry + 1; });
    for (unsigned stage = 1; stage < STAGES; stage++)
        stages &= tbb::filter<unsigned, unsigned>(mode, [](unsigned entry) { return entry + 1; });
    tbb::filter<void, unsigned> first(mode, [&](tbb::flow_control &control) {
        if (made == ENTRIES)
            control.stop();
        return made++;
    });
    tbb::filter<unsigned, void> last(mode, [&](unsigned entry) { check(entry == seen++ + STAGES); });
    tbb::parallel_pipeline(DEPTH, first & stages & last);
    check(seen == ENTRIES);
}

int main(int count, char **words) {
    tbb::global_control workers(tbb::global_control::max_allowed_parallelism, WORKERS);
    const Program programs[] = {
        {"skynet", LEAVES, [] { check(skynet(0, LEAVES) == LEAVES * (LEAVES - 1) / 2); }},
        {"contention", (unsigned long)CONTENDERS * TURNS, contention},
        {"fork-join", (unsigned long)ROUNDS * FORKS, fork_join},
        {"pipeline", (unsigned long)STAGES * ENTRIES, pipeline},
    };
    return measure(programs, words[count - 1]);
}
