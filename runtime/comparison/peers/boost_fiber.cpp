// The programs of src/peers.rs on fibers of Boost.Fiber, whose threads steal each other's.
#include <boost/fiber/all.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "programs.hpp"

using boost::fibers::buffered_channel;
using boost::fibers::fiber;
using boost::fibers::launch;

template <class F>
static fiber begin(F function) {
    boost::fibers::fixedsize_stack stacks(8 << 10);
    return fiber(launch::post, std::allocator_arg, stacks, std::move(function));
}

using Numbers = buffered_channel<unsigned long>;

static unsigned long skynet(unsigned long first, unsigned long leaves) {
    if (leaves == 1)
        return first;
    // A channel of Boost holds one entry less than it is made for, and a power of two.
    auto sums = std::make_shared<Numbers>(16);
    leaves /= CHILDREN;
    for (unsigned long child = 0; child < CHILDREN; child++)
        begin([=] { sums->push(skynet(first + child * leaves, leaves)); }).detach();
    unsigned long sum = 0;
    for (unsigned long child = 0; child < CHILDREN; child++)
        sum += sums->value_pop();
    return sum;
}

static void ping_pong() {
    Numbers there(2), back(2);
    fiber other = begin([&] {
        for (unsigned trip = 0; trip < TRIPS; trip++)
            back.push(there.value_pop() + 1);
    });
    unsigned long ball = 0;
    for (unsigned trip = 0; trip < TRIPS; trip++) {
        there.push(ball);
        ball = back.value_pop();
    }
    other.join();
    check(ball == TRIPS);
}

static void contention() {
    boost::fibers::mutex lock;
    unsigned long count = 0;
    std::vector<fiber> fibers;
    for (unsigned contender = 0; contender < CONTENDERS; contender++)
        fibers.push_back(begin([&] {
            for (unsigned turn = 0; turn < TURNS; turn++) {
                std::unique_lock<boost::fibers::mutex> held(lock);
                count++;
            }
        }));
    for (fiber &one : fibers)
        one.join();
    check(count == (unsigned long)CONTENDERS * TURNS);
}

static void fork_join() {
    for (unsigned round = 0; round < ROUNDS; round++) {
        std::vector<fiber> fibers;
        for (unsigned fork = 0; fork < FORKS; fork++)
            fibers.push_back(begin([] {}));
        for (fiber &one : fibers)
            one.join();
    }
}

static void pipeline() {
    std::vector<std::unique_ptr<Numbers>> queues;
    for (unsigned queue = 0; queue <= STAGES; queue++)
        queues.push_back(std::make_unique<Numbers>(DEPTH));
    std::vector<fiber> fibers;
    for (unsigned stage = 0; stage < STAGES; stage++)
        fibers.push_back(begin([&from = *queues[stage], &to = *queues[stage + 1]] {
            for (unsigned entry = 0; entry < ENTRIES; entry++)
                to.push(from.value_pop() + 1);
        }));
    fibers.push_back(begin([&] {
        for (unsigned entry = 0; entry < ENTRIES; entry++)
            queues[0]->push(entry);
    }));
    for (unsigned entry = 0; entry < ENTRIES; entry++)
        check(queues[STAGES]->value_pop() == entry + STAGES);
    for (fiber &one : fibers)
        one.join();
}

int main(int count, char **words) {
    // A scheduler of this kind waits for all WORKERS threads.
    boost::fibers::mutex lock;
    boost::fibers::condition_variable_any end;
    bool is_over = false;
    std::thread other([&] {
        boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(WORKERS);
        std::unique_lock<boost::fibers::mutex> held(lock);
        end.wait(held, [&] { return is_over; });
    });
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(WORKERS);
    const Program programs[] = {
        {"skynet", LEAVES, [] { check(skynet(0, LEAVES) == LEAVES * (LEAVES - 1) / 2); }},
        {"ping-pong", TRIPS, ping_pong},
        {"contention", (unsigned long)CONTENDERS * TURNS, contention},
        {"fork-join", (unsigned long)ROUNDS * FORKS, fork_join},
        {"pipeline", (unsigned long)STAGES * ENTRIES, pipeline},
    };
    int code = measure(programs, words[count - 1]);
    {
        std::unique_lock<boost::fibers::mutex> held(lock);
        is_over = true;
    }
    end.notify_all();
    other.join();
    return code;
}
