//! What is known of a session: each value is told when it is new, and never taken away.

use crate::event::{Body, ModeChanged, Scope, SessionStarted, SessionUpdated, Trust};
use crate::id::Seq;
use crate::state::intake::Intake;
use crate::state::{Answer, Link};

impl Intake<'_> {
    /// `session.updated`: only what is new of it is told.
    pub(crate) fn session_updated(&mut self, mut data: SessionUpdated) -> Answer {
        if self.hints.evidence_only {
            // What is not told is not known: whoever says it aloud must find it new.
            return Answer::Confirms(Seq(0));
        }
        self.leave_to_stream(&mut data);
        match self.note(&data) {
            Some(changed) => self.news(SessionUpdated { title: data.title, ..changed }),
            None if data.title.is_some() => {
                self.news(SessionUpdated { title: data.title, ..SessionUpdated::default() })
            }
            None => Answer::Confirms(Seq(0)),
        }
    }

    /// What the stream tells of a session is the stream's to tell: a value seen from beside it may be that
    /// of a moment ago.
    fn leave_to_stream(&mut self, data: &mut SessionUpdated) {
        let evidence = &mut self.record.evidence;
        if self.trust == Trust::Authoritative {
            evidence.streams_mode |= data.permission_mode.is_some();
            evidence.streams_title |= data.title.is_some();
        } else if self.overshadowed {
            data.permission_mode.take_if(|_| evidence.streams_mode);
            data.title.take_if(|_| evidence.streams_title);
        }
    }

    /// `mode.changed`.
    pub(crate) fn mode_changed(&mut self, mut data: ModeChanged) -> Answer {
        if self.overshadowed && self.record.evidence.streams_mode {
            return Answer::Confirms(Seq(0));
        }
        self.record.evidence.streams_mode |= self.trust == Trust::Authoritative;
        let known = &mut self.record.state.permission_mode;
        if known.as_ref() == Some(&data.mode) {
            return Answer::Confirms(Seq(0));
        }
        let before = known.replace(data.mode.clone());
        data.from = data.from.or(before);
        self.news(data)
    }

    /// What a second sighting knows more of the session is told once.
    pub(crate) fn learn(&mut self, update: &SessionUpdated) {
        if let Some(changed) = self.note(update) {
            self.conclude("learned", Scope::Main, Body::SessionUpdated(changed));
        }
    }

    /// Takes over what is known of the session; gives what of it is new. A present value is never
    /// replaced by an absent one.
    pub(crate) fn note(&mut self, update: &SessionUpdated) -> Option<SessionUpdated> {
        let state = &mut self.record.state;
        let mut changed = SessionUpdated::default();
        take(&mut state.cwd, update.cwd.as_ref(), &mut changed.cwd);
        take(&mut state.model, update.model.as_ref(), &mut changed.model);
        take(&mut state.version, update.version.as_ref(), &mut changed.version);
        take(&mut state.branch, update.branch.as_ref(), &mut changed.branch);
        take(&mut state.mode, update.mode.as_ref(), &mut changed.mode);
        take(&mut state.process, update.process.as_ref(), &mut changed.process);
        take(
            &mut state.permission_mode,
            update.permission_mode.as_ref(),
            &mut changed.permission_mode,
        );
        if let Some(parent) = &update.parent
            && state.parent.as_ref().is_none_or(|known| known.id != *parent)
        {
            state.parent = Some(Link { id: parent.clone(), how: state.source });
            changed.parent = Some(parent.clone());
        }
        (changed != SessionUpdated::default()).then_some(changed)
    }
}

fn take<T: Clone + PartialEq>(known: &mut Option<T>, now: Option<&T>, told: &mut Option<T>) {
    if let Some(now) = now
        && known.as_ref() != Some(now)
    {
        *known = Some(now.clone());
        *told = Some(now.clone());
    }
}

/// What a start tells of the session.
pub(crate) fn update_of(data: &SessionStarted) -> SessionUpdated {
    SessionUpdated {
        cwd: data.cwd.clone(),
        model: data.model.clone(),
        version: data.version.clone(),
        mode: data.mode,
        parent: data.parent.clone(),
        ..SessionUpdated::default()
    }
}
