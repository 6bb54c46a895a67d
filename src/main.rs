fn main() {
    let a: Vec<String> = std::env::args().collect();
    let o = addfg::build::Options { traces: vec![a[1].clone().into()], elfs: vec![addfg::build::ElfInput { path: a[2].clone().into(), bias: None }], output: a[3].clone().into(), format: None, layout: None, detail: addfg::build::Detail::Pairs, literal_saves: false, strict: false, force: true, memory_limit: 0, jobs: 1 };
    match addfg::build::build(&o, &mut |_, _| false) { Ok(r) => println!("{r:?}"), Err(e) => { eprintln!("{e}"); std::process::exit(2) } }
}
