/* What addfg_qemu.c uses of QEMU's plugin interface, versions 1 to 4, as QEMU's manual describes it
 * ("QEMU TCG Plugins"): Debian's QEMU 7.2 has the first, its QEMU 10 the last, their packages do not have the header.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as plugins are linked with QEMU.
 */
#ifndef ADDFG_PLUGIN_API_H
#define ADDFG_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_plugin_scoreboard;

/* A number of each processor, where it is in what a scoreboard has of each. */
typedef struct {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
} qemu_plugin_u64;

typedef struct {
    const char *target_name;
    struct { int min, cur; } version;
    bool system_emulation;
    union {
        struct { int smp_vcpus, max_vcpus; } system;
    };
} qemu_info_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };

typedef void (*qemu_plugin_vcpu_simple_cb_t)(qemu_plugin_id_t, unsigned vcpu);
typedef void (*qemu_plugin_udata_cb_t)(qemu_plugin_id_t, void *);
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned vcpu, void *);
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t address, void *);
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*qemu_plugin_vcpu_syscall_cb_t)(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t, uint64_t,
                                              uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
typedef void (*qemu_plugin_vcpu_syscall_ret_cb_t)(qemu_plugin_id_t, unsigned vcpu, int64_t number, int64_t result);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t, qemu_plugin_vcpu_simple_cb_t);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t, qemu_plugin_vcpu_simple_cb_t);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t, qemu_plugin_vcpu_simple_cb_t);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_plugin_vcpu_tb_trans_cb_t);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, qemu_plugin_vcpu_udata_cb_t,
                                          enum qemu_plugin_cb_flags, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, qemu_plugin_vcpu_mem_cb_t, enum qemu_plugin_cb_flags,
                                      enum qemu_plugin_mem_rw, void *);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, qemu_plugin_vcpu_syscall_cb_t);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t, qemu_plugin_vcpu_syscall_ret_cb_t);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, qemu_plugin_udata_cb_t, void *);

uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
/* NULL where no whole machine is emulated. */
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *);
const char *qemu_plugin_hwaddr_device_name(const struct qemu_plugin_hwaddr *);
/* Up to QEMU 8. */
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, enum qemu_plugin_op, void *, uint64_t) __attribute__((weak));
/* From QEMU 9 on. */
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t bytes) __attribute__((weak));
uint64_t qemu_plugin_u64_get(qemu_plugin_u64, unsigned vcpu) __attribute__((weak));
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *, enum qemu_plugin_op, qemu_plugin_u64, uint64_t) __attribute__((weak));
/* Registers: what GLib has them in, as far as it is needed. */
struct qemu_plugin_register;
typedef struct {
    struct qemu_plugin_register *handle;
    const char *name;
    const char *feature; /* There may be more behind it: an array tells the size of its elements. */
} qemu_plugin_reg_descriptor;
typedef struct { char *data; unsigned len; } GArray;
typedef struct { uint8_t *data; unsigned len; } GByteArray;
GArray *qemu_plugin_get_registers(void) __attribute__((weak));
int qemu_plugin_read_register(struct qemu_plugin_register *, GByteArray *) __attribute__((weak));
unsigned g_array_get_element_size(GArray *) __attribute__((weak));
GByteArray *g_byte_array_new(void) __attribute__((weak));
GByteArray *g_byte_array_set_size(GByteArray *, unsigned) __attribute__((weak));
/* Later than the others: not every QEMU has them. */
const char *qemu_plugin_path_to_binary(void) __attribute__((weak));
uint64_t qemu_plugin_start_code(void) __attribute__((weak));

#endif
