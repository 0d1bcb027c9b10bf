/* A plugin for qemu's user mode (API version 1): counts, for each function of crate `copy`, its loads
   and stores, and those at an address that is no multiple of their size. It declares what it uses,
   since Debian's qemu comes without the header. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
enum { CALLBACK_READS_NO_REGISTERS = 0, LOADS_AND_STORES = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(
    qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
void qemu_plugin_register_vcpu_mem_cb(
    struct qemu_plugin_insn *,
    void (*)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *), int, int, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
void qemu_plugin_outs(const char *);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

struct function {
    char name[160];
    uint64_t loads, stores, misaligned_loads, misaligned_stores;
};
static struct function functions[256];
static size_t known;

static void access_memory(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    struct function *function = data;
    bool misaligned = address & ((UINT64_C(1) << qemu_plugin_mem_size_shift(info)) - 1);
    (void)cpu;
    if (qemu_plugin_mem_is_store(info)) {
        function->stores++;
        function->misaligned_stores += misaligned;
    } else {
        function->loads++;
        function->misaligned_loads += misaligned;
    }
}

static struct function *find(const char *name) {
    for (size_t place = 0; place < known; place++)
        if (!strcmp(functions[place].name, name)) return &functions[place];
    if (known == sizeof functions / sizeof *functions) return NULL;
    if (strlen(name) >= sizeof functions->name) return NULL;
    return strcpy(functions[known].name, name), &functions[known++];
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    for (size_t place = 0; place < qemu_plugin_tb_n_insns(block); place++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, place);
        const char *symbol = qemu_plugin_insn_symbol(instruction);
        struct function *function =
            symbol && strstr(symbol, "linerate_copy") ? find(symbol) : NULL;
        if (function)
            qemu_plugin_register_vcpu_mem_cb(
                instruction, access_memory, CALLBACK_READS_NO_REGISTERS, LOADS_AND_STORES,
                function);
    }
}

static void print(qemu_plugin_id_t id, void *data) {
    char line[320];
    (void)id, (void)data;
    for (size_t place = 0; place < known; place++) {
        struct function *one = &functions[place];
        snprintf(line, sizeof line, "accesses %.159s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                 one->name, one->loads, one->stores, one->misaligned_loads, one->misaligned_stores);
        qemu_plugin_outs(line);
    }
}

EXPORT int qemu_plugin_install(
    qemu_plugin_id_t id, const void *info, int count, char **arguments) {
    (void)info, (void)count, (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, print, NULL);
    return 0;
}
