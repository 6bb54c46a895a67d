//! What it costs to run something elsewhere: a model that the user sets.

/// The run goes on one step a cycle, waits for what runs elsewhere, and sends what crosses.
#[derive(Clone, Copy, Debug)]
pub struct CostModel {
    /// Bytes a second, and seconds that each way takes beside.
    pub link: Link,
    /// How many times as fast as here steps run elsewhere.
    pub speedup: f64,
    /// Steps a second here.
    pub clock: f64,
}

/// A way between two cores or memories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes a second.
    pub rate: f64,
    /// Seconds.
    pub latency: f64,
}

/// A link on the chip, as the defaults of `addfg plan` have it.
impl Default for CostModel {
    fn default() -> CostModel {
        CostModel { link: Link { rate: 4e9, latency: 100e-9 }, speedup: 10.0, clock: 1e9 }
    }
}

impl CostModel {
    /// Seconds that steps take here.
    pub fn here(&self, steps: f64) -> f64 {
        steps / self.clock
    }

    /// Seconds that it takes to send bytes in so many messages.
    pub fn sending(&self, bytes: f64, messages: f64) -> f64 {
        bytes / self.link.rate + messages * self.link.latency
    }

    /// Seconds that are won where steps run elsewhere: each entry is sent there and back.
    pub fn gain(&self, steps: f64, entries: f64, bytes: f64) -> f64 {
        self.here(steps) * (1.0 - 1.0 / self.speedup) - self.sending(bytes, 2.0 * entries)
    }
}

/// A number with a unit: `4GB` with `B`, `100ns` with `s`, `1.5GHz` with `Hz`. Above 0 or 0.
pub fn quantity(text: &str, unit: &str) -> Result<f64, String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is not a number with {unit}, as in 4G{unit} or 100n{unit}");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
    let prefix = text[digits..].trim().strip_suffix(unit).ok_or_else(wrong)?;
    let factor = match prefix {
        "" => 1.0,
        "n" => 1e-9,
        "u" | "µ" => 1e-6,
        "m" => 1e-3,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "Ki" => 1024.0,
        "Mi" => 1048576.0,
        "Gi" => 1073741824.0,
        _ => return Err(wrong()),
    };
    Ok(number * factor)
}

/// Of a transfer.
const LATENCY: &str = "100ns";

/// `RATE,LATENCY`, as in `1GB/s,2us`; `RATE` has the latency that is assumed where nothing is said.
pub fn link(text: &str) -> Result<Link, String> {
    let (rate, latency) = text.split_once(',').unwrap_or((text, LATENCY));
    let per_second = rate.trim().strip_suffix("/s");
    let rate = quantity(per_second.ok_or("write RATE,LATENCY, as in 1GB/s,2us")?, "B")?;
    let latency = quantity(latency, "s")?;
    if rate > 0.0 { Ok(Link { rate, latency }) } else { Err("nothing can be sent at 0 B/s".into()) }
}

/// Steps a second, as in `1GHz`.
pub fn clock(text: &str) -> Result<f64, String> {
    let clock = quantity(text, "Hz")?;
    if clock > 0.0 { Ok(clock) } else { Err("a clock has more than 0 Hz".into()) }
}

/// A factor from 1.
pub fn speedup(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|e| format!("`{text}`: {e}"))?;
    if factor >= 1.0 { Ok(factor) } else { Err("it is 1 at least".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        assert_eq!(link("1GB/s,2us"), Ok(Link { rate: 1e9, latency: 2e-6 }));
        assert_eq!(link("64KiB/s"), link("64KiB/s,100ns"));
        assert_eq!(clock("1.5GHz"), Ok(1.5e9));
        for wrong in ["", "1", "1GB", "GB/s", "1GB/s,2", "-1B/s", "0B/s", "1XB/s"] {
            assert!(link(wrong).is_err(), "{wrong}");
        }
        assert!(speedup("0.5").is_err() && speedup("x").is_err());
    }
}
