//! Figures of runs.

use super::alike;
use crate::figures::{
    Barred, Caught, Checked, Counted, EarlierResults, Figures, HostFigures, JobCounts, Progress, RunFailure,
    Steals, TableSize, Times,
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
            checked,
            earlier,
            by_host,
        } = figures;
        // The others are estimates, or count work that was used again each time.
        let Times { work_s, computed_s, answer_work_s, lost_work_s, span_s, .. } = times;
        Self {
            counted: counted.into(),
            hosts: Some(hosts),
            threads: Some(threads),
            jobs: jobs.into(),
            steals: sateen_api::Steals { requests },
            work_s: Some(work_s),
            computed_s: Some(computed_s),
            answer_work_s,
            lost_work_s,
            span_s,
            progress: progress.map(Into::into),
            error: error.map(Into::into),
            root_host: root_host.map(|host| host.to_string()),
            root_losses,
            table: Some(sateen_api::TableSize { entries, bytes }),
            checked: checked.map(Into::into),
            earlier: Some(earlier.into()),
            by_host: by_host.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<EarlierResults> for sateen_api::EarlierResults {
    fn from(EarlierResults { jobs, work_s }: EarlierResults) -> Self {
        Self { jobs, work_s }
    }
}

impl From<Checked> for sateen_api::Checked {
    fn from(checked: Checked) -> Self {
        let Checked {
            is_checking,
            units,
            units_checked,
            work_share,
            checks,
            work_s,
            barred,
            without_standing,
            caught,
        } = checked;
        let caught = caught.into_iter();
        let caught = caught.map(|Caught { one_in, probability }| sateen_api::Caught { one_in, probability });
        let barred = barred.into_iter().map(|Barred { host, key }| {
            let host = host.to_string();
            sateen_api::BarredHost { host, key }
        });
        Self {
            is_checking,
            units,
            units_checked,
            work_share,
            checks,
            work_s,
            barred: barred.collect(),
            without_standing,
            caught: caught.collect(),
        }
    }
}

impl From<Progress> for sateen_api::Progress {
    fn from(Progress { done, total }: Progress) -> Self {
        Self { done, total }
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
            is_away,
            jobs,
            work_s,
            computed_s,
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
            away: is_away,
            jobs: jobs.into(),
            work_s: Some(work_s),
            computed_s,
            updates,
            shared_bytes,
            busy,
            workers,
        }
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{HostId, Jobs};

    use super::*;
    use crate::figures::FailureKind;

    #[test]
    fn figures_are_shown_in_this_order_and_in_words() {
        let of_hosts = Jobs {
            spawned: 1,
            exposed: 2,
            executed: 3,
            stolen_local: 4,
            stolen: 5,
            stolen_wide: 6,
            reused: 10,
            lost: 7,
            given_back: 8,
            adopted: 11,
            recorded: 12,
            aborted: 13,
        };
        let host = HostFigures {
            name: "one".to_owned(),
            site: "here".to_owned(),
            is_there: true,
            is_away: true,
            jobs: of_hosts.into(),
            work_s: 0.5,
            computed_s: 1.5,
            updates: 1,
            shared_bytes: 2,
            busy: Some(3),
            workers: 4,
            ..HostFigures::of(HostId(0xab))
        };
        let message = "no".to_owned();
        let failure = RunFailure { kind: FailureKind::Input, message, job: None, backtrace: Vec::new() };
        let times = Times {
            work_s: 1.0,
            computed_s: 2.0,
            answer_work_s: None,
            lost_work_s: Some(3.0),
            redone_work_s: 4.0,
            saved_work_s: 5.0,
            span_s: Some(6.0),
        };
        let barred = vec![Barred { host: HostId(0xef), key: "01".to_owned() }];
        let checked = Checked {
            is_checking: true,
            units: 9,
            units_checked: 8,
            work_share: Some(0.5),
            checks: 10,
            work_s: 1.5,
            barred,
            without_standing: Some(11),
            caught: vec![Caught { one_in: 12, probability: 0.5 }],
        };
        let figures = Figures {
            counted: Counted::Partial,
            hosts: 1,
            threads: 2,
            jobs: JobCounts { of_hosts, redone: 9 },
            steals: Steals { requests: 3 },
            times,
            progress: Some(Progress { done: 4, total: 5 }),
            error: Some(failure),
            root_host: Some(HostId(0xcd)),
            root_losses: 6,
            table: TableSize { entries: 7, bytes: 8 },
            checked: Some(checked),
            earlier: EarlierResults { jobs: 12, work_s: 6.0 },
            by_host: vec![host],
        };
        let jobs = |redone| {
            format!(
                r#"{{"spawned":1,"exposed":2,"executed":3,"stolen_local":4,"stolen":5,"stolen_wide":6,"lost":7,"given_back":8,"redone":{redone},"reused":10,"adopted":11,"recorded":12,"aborted":13}}"#
            )
        };
        let expected = [
            r#"{"counted":"partial","hosts":1,"threads":2,"jobs":"#,
            &jobs(9),
            r#","steals":{"requests":3},"work_s":1.0,"computed_s":2.0,"answer_work_s":null,"lost_work_s":3.0,"#,
            r#""span_s":6.0,"progress":{"done":4,"total":5},"#,
            r#""error":{"kind":"input","message":"no","job":null,"backtrace":[]},"root_host":"hcd","#,
            r#""root_losses":6,"table":{"entries":7,"bytes":8},"#,
            r#""checked":{"is_checking":true,"units":9,"units_checked":8,"work_share":0.5,"checks":10,"work_s":1.5,"#,
            r#""barred":[{"host":"hef","key":"01"}],"without_standing":11,"#,
            r#""caught":[{"one_in":12,"probability":0.5}]},"earlier":{"jobs":12,"work_s":6.0},"#,
            r#""by_host":[{"host":"hab","name":"one","site":"here","there":true,"away":true,"jobs":"#,
            &jobs(0),
            r#","work_s":0.5,"computed_s":1.5,"updates":1,"shared_bytes":2,"busy":3,"workers":4}]}"#,
        ];
        let shown = serde_json::to_string(&sateen_api::Figures::from(figures)).expect("it encodes");
        assert_eq!(shown, expected.concat());
    }
}
