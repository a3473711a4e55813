//! Figures of runs.

use super::alike;
use crate::figures::{
    Counted, Figures, HostFigures, JobCounts, Progress, RunFailure, Steals, TableSize, Times,
};

alike!(Counted => sateen_api::Counted: SoFar, Final, Partial);

impl From<Figures> for sateen_api::Figures {
    fn from(figures: Figures) -> Self {
        let Figures {
            counted,
            hosts,
            threads,
            jobs,
            steals: Steals { requests },
            times,
            progress,
            error,
            root_host,
            root_losses,
            table: TableSize { entries, bytes },
            by_host,
        } = figures;
        let Times { work_s, computed_s, answer_work_s, lost_work_s, redone_work_s, saved_work_s, span_s } =
            times;
        Self {
            counted: counted.into(),
            hosts,
            threads,
            jobs: jobs.into(),
            steals: sateen_api::Steals { requests },
            work_s,
            computed_s,
            answer_work_s,
            lost_work_s,
            redone_work_s,
            saved_work_s,
            span_s,
            progress: progress.map(|Progress { done, total }| sateen_api::Progress { done, total }),
            error: error.map(Into::into),
            root_host: root_host.map(|host| host.to_string()),
            root_losses,
            table: sateen_api::TableSize { entries, bytes },
            by_host: by_host.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<JobCounts> for sateen_api::JobCounts {
    fn from(JobCounts { of_hosts, redone }: JobCounts) -> Self {
        Self { redone, ..of_hosts.into() }
    }
}

impl From<RunFailure> for sateen_api::RunFailure {
    fn from(RunFailure { kind, message, job, backtrace }: RunFailure) -> Self {
        Self { kind: kind.word().to_owned(), message, job, backtrace }
    }
}

impl From<HostFigures> for sateen_api::HostOfRun {
    fn from(figures: HostFigures) -> Self {
        let HostFigures {
            host,
            name,
            site,
            is_there,
            jobs,
            work_s,
            computed_s,
            redone_work_s,
            updates,
            shared_bytes,
            busy,
            workers,
        } = figures;
        Self {
            host: host.to_string(),
            name,
            site,
            there: is_there,
            jobs: jobs.into(),
            work_s,
            computed_s,
            redone_work_s,
            updates,
            shared_bytes,
            busy,
            workers,
        }
    }
}
