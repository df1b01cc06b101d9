// SPDX-License-Identifier: BSD-2-Clause
package checks;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;
import syncedmem.Libsyncedmem;
import syncedmem.SyncedmemLibrary;

/**
 * Checks the promises of the binding: it has the whole API as described, and bad use throws an exception, or does what the
 * contract says, and never ends the process. usage: Checks include/syncedmem.json
 */
public final class Checks {
    private static int checks;
    private static int failures;

    private Checks() {}

    /** Something to check: whatever it throws is a failure. */
    interface Body {
        void run() throws Exception;
    }

    static void check(String sentence, Body body) {
        checks++;
        try {
            body.run();
            System.out.println("ok - java: " + sentence);
        } catch (Throwable failure) {
            failures++;
            StringWriter trace = new StringWriter();
            failure.printStackTrace(new PrintWriter(trace));
            System.out.println("not ok - java: " + sentence);
            System.out.println(trace.toString().replaceAll("(?m)^", "#   "));
        }
    }

    static void same(String what, Object wanted, Object found) {
        if (!wanted.equals(found)) {
            throw new AssertionError(what + ": expected\n" + wanted + "\nbut it is\n" + found);
        }
    }

    /** The exception of this class that a body throws. */
    static <T extends Throwable> T refused(Class<T> with, Body body) {
        try {
            body.run();
        } catch (Throwable thrown) {
            if (thrown.getClass() == with) {
                return with.cast(thrown);
            }
            throw new AssertionError("another exception than " + with.getSimpleName(), thrown);
        }
        throw new AssertionError("there was no " + with.getSimpleName());
    }

    /** Collects garbage until something has become true. */
    static void becomes(String what, BooleanSupplier condition) throws InterruptedException {
        for (int i = 0; i < 500; i++) {
            System.gc();
            if (condition.getAsBoolean()) {
                return;
            }
            Thread.sleep(10);
        }
        throw new AssertionError("it did not come to be: " + what);
    }

    public static void main(String[] arguments) throws Exception {
        Libsyncedmem.setAccounting(SyncedmemLibrary.Accounting.ACCOUNTING_ON);
        Description description = new Description(Path.of(arguments[0]));
        check("every function is there, with the types of the description", description::functions);
        check("every constant has the number of the description", description::numbers);
        check("every structure, callback and opaque type is as described", description::types);
        CallsOfC.all(description);
        Lifetimes.all();
        BadUse.all();
        Lifetimes.driver();
        System.out.println("java: " + checks + " checks");
        System.exit(failures == 0 ? 0 : 1);
    }
}
