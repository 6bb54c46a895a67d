//! Reports for continuous integration, of `addfg check` and `addfg diff`.

use super::output::write_output;
use crate::lake::findings::{self, Report};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Reports {
    /// Write a JUnit report (XML) to this file
    #[arg(long, value_name = "FILE", help_heading = "Continuous integration")]
    junit: Option<PathBuf>,
    /// Write a comment for a pull request (Markdown) to this file; -: standard output
    #[arg(long, value_name = "FILE", help_heading = "Continuous integration")]
    markdown: Option<PathBuf>,
    /// Write annotations at source lines (SARIF 2.1.0) to this file
    #[arg(long, value_name = "FILE", help_heading = "Continuous integration")]
    sarif: Option<PathBuf>,
    /// Print annotations at source lines for GitHub (::error file=...)
    #[arg(long, help_heading = "Continuous integration")]
    annotate: bool,
    /// Base of source paths in reports [default: the working directory]
    #[arg(long, value_name = "FOLDER", help_heading = "Continuous integration")]
    source_root: Option<PathBuf>,
}

impl Reports {
    /// Whether any is asked for.
    pub fn any(&self) -> bool {
        self.junit.is_some() || self.markdown.is_some() || self.sarif.is_some() || self.annotate
    }

    pub fn write(&self, report: Report) -> anyhow::Result<()> {
        let root = match &self.source_root {
            Some(root) => std::fs::canonicalize(root).unwrap_or_else(|_| root.clone()),
            None => std::env::current_dir().unwrap_or_default(),
        };
        let report = report.below(&root);
        type Made = fn(&Report) -> String;
        let made: [(&Option<PathBuf>, Made); 3] = [
            (&self.junit, findings::junit),
            (&self.markdown, findings::markdown),
            (&self.sarif, findings::sarif),
        ];
        for (path, made) in made {
            if let Some(path) = path {
                write_output(Some(path.as_path()), made(&report).as_bytes())?;
            }
        }
        if self.annotate {
            write_output(None, findings::annotations(&report).as_bytes())?;
        }
        Ok(())
    }
}
