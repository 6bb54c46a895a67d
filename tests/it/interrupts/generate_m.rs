//! Firmware of the M profile: the vectors are the handlers.

use super::{Context, Generator, functions, head, rounds, timer};
use std::fmt::Write;

/// How a handler begins.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// The vector is a function of C.
    Plain,
    /// Some instructions and a jump to one.
    Jumps,
    /// Some instructions and a call of one.
    Calls,
    /// A function that all such handlers share calls it.
    Dispatched,
    /// The switch of tasks.
    Switch,
}

const NUMBERS: usize = 48;

pub fn generate(g: &mut Generator, seed: u64, shift: usize) -> String {
    g.tasks = if g.random.chance(55) { g.random.from(2, 3) } else { 1 };
    let tasks = g.tasks;
    for task in 0..tasks {
        let work = if task == 0 { "run".to_owned() } else { format!("task{task}") };
        g.contexts.push(Context { work, ..Context::default() });
    }
    let fault = if g.core.main_profile { ("usage", 6) } else { ("hard", 3) };
    let mut all = vec![("systick".to_owned(), 15), ("pendsv".into(), 14), ("svc".into(), 11)];
    all.push((fault.0.into(), fault.1));
    if g.random.chance(50) {
        all.push(("nmi".into(), 2));
    }
    for _ in 0..g.random.from(2, 5) {
        let number = g.random.from(16, NUMBERS - 1);
        if all.iter().all(|(_, other)| *other != number) {
            all.push((format!("irq{}", number - 16), number));
        }
    }
    let (step, levels) = if g.core.main_profile { (32, 7) } else { (64, 3) };
    let mut styles = Vec::new();
    for (name, number) in all {
        let style = match number {
            14 if tasks > 1 => Style::Switch,
            2 | 3 | 6 | 11 => *g.random.of(&[Style::Plain, Style::Jumps, Style::Calls]),
            _ => *g.random.of(&[
                Style::Plain,
                Style::Plain,
                Style::Jumps,
                Style::Calls,
                Style::Dispatched,
            ]),
        };
        let body = format!("{name}_body");
        let (work, chain, caller) = match style {
            Style::Plain => (name.clone(), vec![name], None),
            Style::Jumps => (body.clone(), vec![name, body], None),
            Style::Calls => (body, vec![name.clone()], Some(name)),
            Style::Dispatched => (name, vec!["dispatch".into()], Some("dispatch".to_owned())),
            Style::Switch => ("next_task".into(), vec![name.clone()], Some(name)),
        };
        let priority = match style {
            Style::Switch => step * levels,
            _ => step * g.random.from(0, levels),
        };
        g.contexts.push(Context { work, chain, caller, number, priority });
        styles.push(style);
    }

    let timer = timer(g, shift);
    let functions = functions(g);
    let mut text = format!("{timer}\n{functions}");
    let mut pendsv = String::new();
    for (i, style) in styles.iter().enumerate() {
        let context = tasks + i;
        let number = g.contexts[context].number;
        let mut body = match number {
            15 => "\n    timer_fired();".to_owned(),
            // The frame says where it goes on.
            3 | 6 if *style == Style::Plain => {
                "\n    skip((unsigned)__builtin_return_address(0), __builtin_dwarf_cfa());".into()
            }
            3 | 6 => "\n    skip(exc_return, at);".into(),
            _ => String::new(),
        };
        body += &g.work(context, 220);
        let work = g.contexts[context].work.clone();
        let vector = g.contexts[context].chain[0].clone();
        let _ = match style {
            Style::Switch => {
                pendsv = body.replace('\n', " ");
                Ok(())
            }
            Style::Plain => writeln!(
                text,
                "NAMED void {work}(void)\n{{\n    unsigned before = ENTERED({context}), x = random_number();{body}\n    active = before;\n    data[3] += x;\n}}\n"
            ),
            Style::Dispatched => writeln!(
                text,
                "NAMED void {work}(void)\n{{\n    unsigned x = random_number();{body}\n    data[4] += x;\n}}\n"
            ),
            Style::Jumps | Style::Calls => {
                let stub = if *style == Style::Jumps { "STUB_JUMPS" } else { "STUB_CALLS" };
                writeln!(
                    text,
                    "{stub}({vector});\nvoid {vector}(void);\n\
                     NAMED void {work}(unsigned exc_return, const void *at)\n{{\n    unsigned before = entered({context}, exc_return, at), x = random_number();{body}\n    active = before;\n    data[5] += x;\n}}\n"
                )
            }
        };
    }
    let shared = styles.contains(&Style::Dispatched);
    if shared {
        let mut table = vec!["0".to_owned(); NUMBERS];
        for (i, style) in styles.iter().enumerate() {
            let context = &g.contexts[tasks + i];
            if *style == Style::Dispatched {
                table[context.number].clone_from(&context.work);
            }
        }
        let _ = writeln!(
            text,
            "static Handler *const volatile dispatched[] = {{ {} }};\n\
             NAMED void dispatch(void)\n{{\n    unsigned number = ipsr(), before = ENTERED(context_of[number]);\n    dispatched[number]();\n    active = before;\n}}\n",
            table.join(", ")
        );
    }

    // Tasks.
    for task in 1..tasks {
        let body = rounds(g, task, 500);
        let _ = writeln!(
            text,
            "NAMED void task{task}(void)\n{{\n    unsigned x = {task};\n{body}    data[1] += x;\n    TASK_ENDS({task});\n}}\n"
        );
    }
    let body = rounds(g, 0, 700);
    let mut setup = String::new();
    let priority =
        |number: usize| g.contexts.iter().find(|c| c.number == number).map_or(0, |c| c.priority);
    let _ = writeln!(
        setup,
        "    SHPR(1) = {}u << 16;\n    SHPR(2) = {}u << 24;\n    SHPR(3) = {}u << 16 | {}u << 24;",
        priority(6),
        priority(11),
        priority(14),
        priority(15)
    );
    for word in 0..8 {
        let value =
            (0..4).fold(0, |value, byte| value | priority(16 + 4 * word + byte) << (8 * byte));
        if value != 0 {
            let _ = writeln!(setup, "    NVIC_IPR({word}) = {value:#x}u;");
        }
    }
    let enabled = g
        .contexts
        .iter()
        .filter(|c| c.number >= 16)
        .fold(0u32, |all, c| all | 1 << (c.number - 16));
    let _ = writeln!(setup, "    NVIC_ISER = {enabled:#x}u;");
    if g.core.main_profile {
        setup += "    SHCSR |= 7u << 16;\n";
        if g.random.chance(30) {
            let group = g.random.from(0, 6);
            let _ = writeln!(setup, "    AIRCR = 0x05fa0000u | {group} << 8;");
        }
    }
    if g.core.floats {
        let lazy = *g.random.of(&["3u << 30", "3u << 30", "2u << 30"]);
        let _ = writeln!(
            setup,
            "    FPCCR = (FPCCR & ~(3u << 30)) | {lazy};\n    __asm__ volatile(\"dsb\\n isb\" : : : \"memory\");"
        );
    }
    for task in 1..tasks {
        let _ = writeln!(setup, "    prepare({task}, task{task});");
    }
    let wait = if tasks > 1 { "    while (others_run()) pend(14);\n" } else { "" };
    let start = if g.timed { "    timer(interval());\n" } else { "" };
    let _ = writeln!(
        text,
        "NAMED void run(void)\n{{\n    unsigned x = {seed}u;\n{setup}{start}{body}{wait}    data[2] += x;\n}}\n"
    );

    // The table.
    let mut vectors = vec!["wrong".to_owned(); NUMBERS];
    let mut numbers = vec!["0".to_owned(); NUMBERS];
    for (context, c) in g.contexts.iter().enumerate().skip(tasks) {
        vectors[c.number].clone_from(&c.chain[0]);
        numbers[c.number] = context.to_string();
    }
    vectors[0] = "(Handler *)(main_stack + sizeof main_stack)".into();
    vectors[1] = "reset".into();
    let asm: Vec<_> = styles
        .iter()
        .enumerate()
        .filter(|(_, style)| **style == Style::Switch)
        .map(|(i, _)| format!("void {}(void);\n", g.contexts[tasks + i].chain[0]))
        .collect();
    let _ = writeln!(
        text,
        "static char main_stack[2048] __attribute__((aligned(8), used));\n{}\
         __attribute__((section(\".vectors\"), used)) Handler *const vectors[{NUMBERS}] = {{ {} }};",
        asm.concat(),
        vectors.join(", ")
    );
    let defines = format!(
        "#define BASEPRI {}\n#define TASK_STACK {}\nstatic const unsigned char context_of[{NUMBERS}] = {{ {} }};\n",
        u8::from(g.core.main_profile),
        if g.core.main_profile { 512 } else { 256 },
        numbers.join(", ")
    );
    // What the switch does is above what is generated.
    let (before, after) = if tasks > 1 {
        (
            "static void pendsv_work(void);\n#define PENDSV_WORK pendsv_work();\n".to_owned(),
            format!(
                "INLINE void pendsv_work(void)\n{{\n    unsigned x = random_number();{pendsv}\n    data[6] += x;\n}}\n"
            ),
        )
    } else {
        ("#define PENDSV_WORK\n".into(), String::new())
    };
    format!("{}{text}{after}", head(g, seed, &(defines + &before), "cortex-m.h"))
}
