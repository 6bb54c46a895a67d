//! Firmware of the A profile and of RISC-V: vectors that jump, entries that save, one task.

use super::{Context, Family, Generator, functions, head, rounds, timer};
use std::fmt::Write;

const SPURIOUS: usize = 1023;

fn add(g: &mut Generator, work: &str, number: usize, chain: &[&str], caller: &str) -> usize {
    g.contexts.push(Context {
        work: work.into(),
        chain: chain.iter().map(|&name| name.into()).collect(),
        caller: Some(caller.into()),
        number,
        priority: 0,
    });
    g.contexts.len() - 1
}

pub fn generate(g: &mut Generator, seed: u64, shift: usize) -> String {
    g.contexts.push(Context { work: "run".into(), ..Context::default() });
    match g.core.family {
        Family::RiscV => riscv(g, seed, shift),
        _ => arm(g, seed, shift),
    }
}

/// The functions that handlers call, and the table of them.
fn works(g: &mut Generator, first: &dyn Fn(usize) -> &'static str) -> String {
    let mut out = String::new();
    for context in 1..g.contexts.len() {
        let number = g.contexts[context].number;
        let body = if number == SPURIOUS { String::new() } else { g.work(context, 250) };
        let name = &g.contexts[context].work;
        let _ = writeln!(
            out,
            "NAMED void {name}(void)\n{{\n    unsigned x = random_number();{}{body}\n    data[5] += x;\n}}\n",
            first(number)
        );
    }
    let names: Vec<_> = g.contexts.iter().skip(1).map(|c| c.work.as_str()).collect();
    let _ = writeln!(
        out,
        "static Handler *const volatile handlers[CONTEXTS] = {{ 0, {} }};",
        names.join(", ")
    );
    out
}

fn run(g: &mut Generator, seed: u64, setup: &str) -> String {
    let body = rounds(g, 0, 900);
    let start = if g.timed { "    timer(interval());\n" } else { "    timer_off();\n" };
    format!(
        "NAMED void run(void)\n{{\n    unsigned x = {seed}u;\n{setup}{start}    ALL_ON();\n{body}    data[2] += x;\n}}\n"
    )
}

fn bytes(all: &[usize]) -> String {
    all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

fn arm(g: &mut Generator, seed: u64, shift: usize) -> String {
    let a32 = g.core.family == Family::A32;
    let mut defines = String::new();
    let (irq, svc, undefined): (Vec<&str>, Vec<&str>, Vec<&str>);
    let abort = ["vectors", "abort_entry"];
    let mut entries = String::new();
    let mut nests_at_all = true;
    if a32 {
        // GCC's own entries do not restore r0 to r3 where it takes ldrd for them, as it does for a Cortex-A15.
        let first = usize::from(g.core.name.starts_with("a15"));
        let styles = [(); 4].map(|()| g.random.from(first, 2));
        nests_at_all = styles[0] == 1;
        let by_hand = styles.contains(&2);
        let table_thumb = g.core.thumb && !by_hand && g.random.chance(60);
        let loads = g.core.thumb || g.random.chance(50);
        let mode = *g.random.of(&["0x1f", "0x1f", "0x13"]);
        let _ = write!(
            defines,
            "#define TABLE_THUMB {}\n#define TABLE_LOADS {}\n#define TABLE_BIT \"{}\"\n#define MAIN_MODE \"{mode}\"\n",
            u8::from(table_thumb),
            u8::from(loads),
            if table_thumb { "0x40000000" } else { "0" }
        );
        for ((name, kind), style) in
            [("irq", "IRQ"), ("svc", "SWI"), ("undefined", "UNDEF"), ("abort", "ABORT")]
                .into_iter()
                .zip(styles)
        {
            let adjust = if name == "irq" || name == "abort" { "sub lr, lr, #4" } else { "" };
            let _ = match style {
                0 => writeln!(entries, "BY_COMPILER({name}, \"{kind}\")"),
                1 => writeln!(entries, "BY_RFE({name}, \"{adjust}\");"),
                _ => writeln!(entries, "BY_LDM({name}, \"{adjust}\");"),
            };
        }
        irq = vec!["vectors", "irq_entry"];
        svc = vec!["vectors", "svc_entry"];
        undefined = vec!["vectors", "undefined_entry"];
    } else {
        let slots = g.random.below(3);
        let _ = write!(
            defines,
            "#define SLOTS {slots}\n#define MAIN_STACK \"{}\"\n",
            g.random.below(2)
        );
        (irq, svc) = match slots {
            0 => (vec!["vectors", "irq_entry"], vec!["vectors", "sync_entry"]),
            1 => (vec!["vector_irq", "irq_entry"], vec!["vector_sync", "sync_entry"]),
            _ => (vec!["vector_irq"], vec!["vector_sync"]),
        };
        undefined = svc.clone();
    }
    let timer_number = if g.core.board.contains("TIMER 29") { 29 } else { 27 };
    add(g, "on_timer", timer_number, &irq, "irq_body");
    for _ in 0..g.random.from(2, 5) {
        let number = g.random.from(1, 15);
        if g.contexts.iter().all(|c| c.number != number) {
            add(g, &format!("on_sgi{number}"), number, &irq, "irq_body");
        }
    }
    let spurious = add(g, "on_nothing", SPURIOUS, &irq, "irq_body");
    let svc = add(g, "on_svc", 0, &svc, if a32 { "svc_body" } else { "sync_body" });
    let undefined =
        add(g, "on_undefined", 0, &undefined, if a32 { "undefined_body" } else { "sync_body" });
    if a32 {
        let abort = add(g, "on_abort", 0, &abort, "abort_body");
        let _ = writeln!(defines, "#define ABORT_CONTEXT {abort}");
    }
    let mut setup = String::new();
    let (mut nests, mut numbers) = (vec![0; g.contexts.len()], [0; 32]);
    for (context, nests) in nests.iter_mut().enumerate().skip(1) {
        let number = g.contexts[context].number;
        let is_irq = (1..32).contains(&number);
        let nest = g.random.chance(60);
        *nests = usize::from(nest && number != SPURIOUS && (nests_at_all || !is_irq));
        if is_irq {
            numbers[number] = context;
            let priority = 16 * g.random.from(0, 13);
            let _ = writeln!(setup, "    GICD_IPRIORITYR({number}) = {priority};");
        }
    }
    let timer = timer(g, shift);
    let functions = functions(g);
    let works =
        works(g, &|number| if number > 15 && number < 32 { "\n    timer_fired();" } else { "" });
    let run = run(g, seed, &setup);
    let _ = write!(
        defines,
        "#define SPURIOUS {spurious}\n#define SVC_CONTEXT {svc}\n#define UNDEFINED_CONTEXT {undefined}\n\
         static const unsigned char context_of[32] = {{ {} }};\n",
        bytes(&numbers)
    );
    let nests = format!("static const unsigned char nests[CONTEXTS] = {{ {} }};\n", bytes(&nests));
    let head = head(g, seed, &defines, if a32 { "arm.h" } else { "aarch64.h" });
    format!("{head}{timer}\n{functions}{nests}{works}\n{entries}\n{run}")
}

fn riscv(g: &mut Generator, seed: u64, shift: usize) -> String {
    let vectored = g.random.chance(50);
    let mut entries = String::new();
    let mut callers = Vec::new();
    let mut entry = |g: &mut Generator, name: &str, context: &str| {
        let style = g.random.below(3);
        let _ = match style {
            0 => writeln!(entries, "BY_COMPILER({name})"),
            1 => writeln!(entries, "WHOLE({name}, {context})"),
            _ => writeln!(entries, "BY_HAND({name});"),
        };
        callers.push(format!("{name}_{}", if style == 1 { "entry" } else { "body" }));
    };
    let kinds = [
        ("timer", "TIMER_CONTEXT", 7),
        ("software", "SOFTWARE_CONTEXT", 3),
        ("sync", "SYNC_CONTEXT", 0),
    ];
    if vectored {
        for (name, context, _) in kinds {
            entry(g, name, context);
        }
    } else {
        entry(g, "trap", "context_of_cause(CSR(mcause))");
    }
    let mut defines = format!("#define VECTORED {}\n", u8::from(vectored));
    for (i, (name, define, number)) in kinds.into_iter().enumerate() {
        let entry = format!("{name}_entry");
        let chain = if vectored { vec!["trap_vectors", &entry] } else { vec!["trap_entry"] };
        let caller = callers[if vectored { i } else { 0 }].clone();
        let context = add(g, &format!("on_{name}"), number, &chain, &caller);
        let _ = writeln!(defines, "#define {define} {context}");
    }
    let nests: Vec<_> = (0..4).map(|_| usize::from(g.random.chance(60))).collect();
    let lets = [0, 8, 128, 136];
    let timer = timer(g, shift);
    let functions = functions(g);
    let works = works(g, &|number| match number {
        7 => "\n    timer_fired();",
        3 => "\n    MSIP = 0;",
        _ => "",
    });
    let run = run(g, seed, "");
    let tables = format!(
        "static const unsigned char nests[CONTEXTS] = {{ {} }};\nstatic const unsigned char lets[CONTEXTS] = {{ {} }};\n",
        bytes(&nests),
        bytes(&lets)
    );
    let head = head(g, seed, &defines, "riscv.h");
    format!("{head}{timer}\n{functions}{tables}{works}\n{entries}\n{run}")
}
