// What the programs of src/peers.rs have in common in C++.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

constexpr unsigned WORKERS = 2;
constexpr unsigned long LEAVES = 1000000, CHILDREN = 10;
constexpr unsigned TRIPS = 200000;
constexpr unsigned CONTENDERS = 64, TURNS = 10000;
constexpr unsigned ROUNDS = 400, FORKS = 1000;
constexpr unsigned STAGES = 8, ENTRIES = 50000, DEPTH = 64;

inline void check(bool holds) {
    if (!holds) {
        std::fputs("a wrong result\n", stderr);
        std::_Exit(1);
    }
}

struct Program {
    const char *name;
    unsigned long operations;
    std::function<void()> run;
};

// Runs the program of that name and prints the nanoseconds of each operation.
template <std::size_t N>
int measure(const Program (&programs)[N], const char *name) {
    for (const Program &program : programs) {
        if (std::strcmp(program.name, name) == 0) {
            auto start = std::chrono::steady_clock::now();
            program.run();
            std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
            std::printf("%.1f\n", time.count() / program.operations);
            std::fflush(stdout);
            return 0;
        }
    }
    std::fputs("no such program\n", stderr);
    return 2;
}
