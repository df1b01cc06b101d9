use super::*;

#[test]
fn a_thread_waits_for_another_no_longer_than_it_says() {
    let lock = Lock::new(());
    let wait = || (lock.is_free_within(3), lock.try_with(3, |()| ()));
    lock.with(|()| {
        let waited = std::thread::scope(|scope| scope.spawn(wait).join().unwrap());
        assert_eq!(waited, (false, Err(Interrupted)));
    });
    assert_eq!(wait(), (true, Ok(())));
    assert_eq!((lock.is_free_within(0), lock.try_with(0, |()| ())), (true, Ok(())));
}

#[test]
#[expect(unsafe_code, reason = "pthread_self")]
fn a_thread_is_called_as_pthread_self_calls_it() {
    // SAFETY: pthread_self has no preconditions.
    assert_eq!(this_thread(), unsafe { libc::pthread_self() } as usize);
}

#[test]
fn a_thread_does_not_wait_for_itself() {
    let lock = Lock::new(1);
    assert_eq!(lock.with(|_| lock.try_with(FOR_EVER, |_| ())), Err(Interrupted));
    assert!(!lock.with(|_| lock.is_free_within(u32::MAX)));
    assert_eq!(lock.try_with(FOR_EVER, |value| *value), Ok(1));
}

#[test]
fn a_lock_of_this_threads_fork_is_still_the_forks_after_it_was_entered() {
    let lock = Lock::new(());
    forking::begin();
    lock.at_fork(ForkStep::Lock);
    lock.with(|()| assert!(!lock.is_free_within(0)));
    assert_eq!(lock.state.load(Ordering::Relaxed), FORK);
    forking::end(|| lock.at_fork(ForkStep::Unlock));
    assert!(lock.is_free_within(0));
}
