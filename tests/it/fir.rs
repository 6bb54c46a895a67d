//! The FIR example: its whole graph, as found by reading the disassembly of `fir`.

use crate::common::*;

#[test]
fn every_edge_of_the_fir_filter() {
    let db = example("fir", "pairs");
    // writer,reader,via,bytes,unique_bytes,addresses,transfers
    let data = rows(
        &db,
        "SELECT writer, reader, via, bytes, unique_bytes, addresses, transfers FROM function_dataflow ORDER BY ALL",
    );
    let expected = [
        // Five outputs of eight were written; checksum reads all.
        "<image .bss>,checksum,global,12,12,12,3",
        // 5 outputs x 4 taps x 4 bytes of coefficients.
        "<image .rodata>,fir,constant,80,80,16,20",
        // The number of the system call: mov $60,%eax writes rax, syscall reads it.
        "_start,_start,register,16,16,16,2",
        // main's result is checksum's: eax.
        "checksum,_start,register,4,4,4,1",
        // 8 x (ecx 4, rdx 8, eax 4 + 4, rdx 8, rsi and rdx 16) + rdx 8 + eax 4; unique: each
        // version's bytes once.
        "checksum,checksum,register,364,176,24,58",
        "filter,checksum,global,20,20,20,5",
        // 5 x (rbx + r12, rbp + rbx, rbx, rbx): fir saves and restores them, so they keep their
        // writer.
        "filter,filter,register,240,64,24,30",
        // rdi
        "filter,fir,register,40,40,8,5",
        // eax
        "fir,filter,register,20,20,4,5",
        // 5 x (rbx 8 + 4 x (rbx 8, rbp 8, r12d 4, rbx 8, rbp 8, r13 and rbx 16) + r12d 4)
        "fir,fir,register,1100,500,28,150",
        // edi and esi
        "fir,multiply,register,160,160,8,40",
        // eax
        "multiply,fir,register,80,80,4,20",
        "multiply,multiply,register,80,80,4,20",
        // 5 outputs x 4 samples x 4 bytes, out of 8 samples.
        "produce,fir,global,80,80,32,20",
    ];
    assert_eq!(data, expected);
    let calls = rows(&db, "SELECT caller, callee, kind, calls, steps FROM call_graph ORDER BY ALL");
    let expected = [
        "_start,main,call,1,396",
        "filter,fir,call,5,290",
        "fir,multiply,call,20,60",
        "main,checksum,call,1,53",
        "main,filter,call,1,330",
        "main,produce,call,1,9",
        ",_start,root,1,401",
    ];
    assert_eq!(calls, expected);
    let endings = rows(&db, "SELECT ending, count(*) FROM function_call GROUP BY ALL ORDER BY ALL");
    // _start never returns.
    assert_eq!(endings, ["open,1", "return,29"]);
    // filter saves three registers once, fir four in each of five calls; each is restored, none is
    // read otherwise.
    let saves = rows(
        &db,
        "SELECT restores, exposed_seq IS NULL, count(*) FROM saved_register GROUP BY ALL",
    );
    assert_eq!(saves, ["1,true,23"]);
    let dot = ok(&["graph", utf8(&db), "--all"]);
    assert_eq!(dot, ok(&["graph", utf8(&db), "--all"]), "the same picture each time");
    assert!(dot.contains(
        "fir in ./fir.c: 230 steps of its own, 290 with callees; local register 1.1 KiB"
    ));
}
