//! Processors and boards that the firmware is made for.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Cortex-M.
    M,
    /// Cortex-A, 32 bits.
    A32,
    A64,
    RiscV,
}

#[derive(Clone, Copy, Debug)]
pub struct Core {
    pub name: &'static str,
    pub family: Family,
    pub compiler: &'static str,
    pub flags: &'static [&'static str],
    pub emulator: &'static str,
    /// Options of the emulator.
    pub machine: &'static [&'static str],
    pub code: u64,
    pub data: u64,
    /// M: BASEPRI, faults of their own, STIR. Not in the M0.
    pub main_profile: bool,
    pub floats: bool,
    pub thumb: bool,
    /// Nanoseconds of a tick of its timer.
    pub tick: u32,
    /// Definitions for the board.
    pub board: &'static str,
}

const ARM: Core = Core {
    name: "",
    family: Family::M,
    compiler: "arm-linux-gnueabi-gcc",
    flags: &[],
    emulator: "qemu-system-arm",
    machine: &[],
    code: 0,
    data: 0x2000_0000,
    main_profile: true,
    floats: false,
    thumb: true,
    tick: 40,
    board: "#define EXC_RETURN 0xfffffffdu\n",
};

const VIRT_GIC: &str =
    "#define GICD 0x8000000\n#define GICC 0x8010000\n#define TIMER 27\n#define PRIVATE_TIMER 0\n";
const A9_GIC: &str = "#define GICD 0x1e001000\n#define GICC 0x1e000100\n#define TIMER 29\n#define PRIVATE_TIMER 0x1e000600\n";

pub const CORES: [Core; 14] = [
    Core {
        name: "m0",
        flags: &["-mcpu=cortex-m0", "-mthumb", "-mfloat-abi=soft"],
        machine: &["-M", "microbit"],
        main_profile: false,
        ..ARM
    },
    Core {
        name: "m3",
        flags: &["-mcpu=cortex-m3", "-mthumb", "-mfloat-abi=soft"],
        machine: &["-M", "mps2-an385"],
        ..ARM
    },
    Core {
        name: "m3-lm3s",
        flags: &["-mcpu=cortex-m3", "-mthumb", "-mfloat-abi=soft"],
        machine: &["-M", "lm3s6965evb"],
        ..ARM
    },
    Core {
        name: "m4f",
        flags: &["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=softfp"],
        machine: &["-M", "mps2-an386"],
        floats: true,
        ..ARM
    },
    Core {
        name: "m7",
        flags: &["-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=softfp"],
        machine: &["-M", "mps2-an500"],
        floats: true,
        ..ARM
    },
    Core {
        name: "m33",
        flags: &["-mcpu=cortex-m33", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=softfp"],
        machine: &["-M", "mps2-an505"],
        code: 0x1000_0000,
        data: 0x3800_0000,
        floats: true,
        tick: 50,
        ..ARM
    },
    Core {
        name: "a9",
        family: Family::A32,
        flags: &["-mcpu=cortex-a9", "-marm", "-mfloat-abi=soft"],
        machine: &["-M", "vexpress-a9"],
        code: 0x6000_0000,
        data: 0x6010_0000,
        thumb: false,
        tick: 10,
        board: A9_GIC,
        ..ARM
    },
    Core {
        name: "a9-thumb",
        family: Family::A32,
        flags: &["-mcpu=cortex-a9", "-mthumb", "-mfloat-abi=soft"],
        machine: &["-M", "vexpress-a9"],
        code: 0x6000_0000,
        data: 0x6010_0000,
        tick: 10,
        board: A9_GIC,
        ..ARM
    },
    Core {
        name: "a15",
        family: Family::A32,
        flags: &["-mcpu=cortex-a15", "-marm", "-mfloat-abi=soft"],
        machine: &["-M", "virt", "-cpu", "cortex-a15"],
        code: 0x4001_0000,
        data: 0x4020_0000,
        thumb: false,
        tick: 16,
        board: VIRT_GIC,
        ..ARM
    },
    Core {
        name: "a15-thumb",
        family: Family::A32,
        flags: &["-mcpu=cortex-a15", "-mthumb", "-mfloat-abi=soft"],
        machine: &["-M", "virt", "-cpu", "cortex-a15"],
        code: 0x4001_0000,
        data: 0x4020_0000,
        tick: 16,
        board: VIRT_GIC,
        ..ARM
    },
    Core {
        name: "a53",
        family: Family::A64,
        compiler: "aarch64-linux-gnu-gcc",
        flags: &["-mcpu=cortex-a53", "-mgeneral-regs-only", "-mstrict-align"],
        emulator: "qemu-system-aarch64",
        machine: &["-M", "virt", "-cpu", "cortex-a53"],
        code: 0x4001_0000,
        data: 0x4020_0000,
        tick: 16,
        board: VIRT_GIC,
        ..ARM
    },
    RISCV,
    Core {
        name: "rv64-c",
        flags: &["-mno-relax", "-march=rv64imac_zicsr", "-mabi=lp64", "-mcmodel=medany"],
        ..RISCV
    },
    Core {
        name: "rv32",
        flags: &["-mno-relax", "-march=rv32imac_zicsr", "-mabi=ilp32", "-mcmodel=medany"],
        emulator: "qemu-system-riscv32",
        ..RISCV
    },
];

const RISCV: Core = Core {
    name: "rv64",
    family: Family::RiscV,
    compiler: "riscv64-linux-gnu-gcc",
    flags: &["-mno-relax", "-march=rv64ima_zicsr", "-mabi=lp64", "-mcmodel=medany"],
    emulator: "qemu-system-riscv64",
    machine: &["-M", "virt", "-bios", "none"],
    code: 0x8000_0000,
    data: 0x8020_0000,
    tick: 100,
    board: "",
    ..ARM
};
