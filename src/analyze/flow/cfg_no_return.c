#include "analyze/flow/cfg_no_return.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/count_of.h"

/*
 * In the order of their bytes, for bsearch(). Sources: C11 7.22.4 and 7.13.2; POSIX
 * <unistd.h>, <setjmp.h>, <pthread.h>; glibc's headers and debug/, what is declared
 * noreturn; Itanium C++ ABI 2.4 to 2.8 and libsupc++; Rust's core::panicking; perl's
 * embed.fnc and python's headers, likewise; Linux, tools/objtool/noreturns.h.
 */
static const char *const names[] = {
	"GOMP_PLUGIN_fatal",
	"Perl_croak",
	"Perl_croak_memory_wrap",
	"Perl_croak_no_modify",
	"Perl_croak_nocontext",
	"Perl_croak_popstack",
	"Perl_croak_sv",
	"Perl_croak_xs_usage",
	"Perl_die_unwind",
	"Perl_my_exit",
	"Perl_my_failure_exit",
	"Perl_noperl_die",
	"Py_Exit",
	"Py_ExitStatusException",
	"Py_FatalError",
	"_Exit",
	"_PyObject_AssertFailed",
	"_Py_FatalErrorFormat",
	"_Py_FatalErrorFunc",
	"_Unwind_Resume",
	"_ZN10__cxxabiv111__terminateEPFvvE",
	"_ZN10__cxxabiv112__unexpectedEPFvvE",
	"_ZSt10unexpectedv",
	"_ZSt9terminatev",
	"__assert",
	"__assert_fail",
	"__assert_fail_base",
	"__assert_perror_fail",
	"__assert_rtn",
	"__chk_fail",
	"__clang_call_terminate",
	"__cxa_bad_cast",
	"__cxa_bad_typeid",
	"__cxa_call_terminate",
	"__cxa_call_unexpected",
	"__cxa_deleted_virtual",
	"__cxa_pure_virtual",
	"__cxa_rethrow",
	"__cxa_throw",
	"__cxa_throw_bad_array_length",
	"__cxa_throw_bad_array_new_length",
	"__fortify_fail",
	"__fortify_panic",
	"__libc_fatal",
	"__libc_start_call_main",
	"__libc_start_main",
	"__longjmp",
	"__longjmp_chk",
	"__module_put_and_kthread_exit",
	"__pthread_exit",
	"__pthread_unwind",
	"__pthread_unwind_next",
	"__reiserfs_panic",
	"__rust_start_panic",
	"__stack_chk_fail",
	"__stack_chk_fail_local",
	"__ubsan_handle_builtin_unreachable",
	"__ubsan_handle_missing_return",
	"_exit",
	"_longjmp",
	"abort",
	"arch_call_rest_init",
	"arch_cpu_idle_dead",
	"btrfs_assertfail",
	"cpu_bringup_and_idle",
	"cpu_startup_entry",
	"do_exit",
	"do_group_exit",
	"do_task_dead",
	"err",
	"errc",
	"errx",
	"ex_handler_msr_mce",
	"exit",
	"fortify_panic",
	"hlt_play_dead",
	"kthread_complete_and_exit",
	"kthread_exit",
	"longjmp",
	"machine_real_restart",
	"make_task_dead",
	"mpt_halt_firmware",
	"nmi_panic_self_stop",
	"panic",
	"panic_smp_self_stop",
	"pthread_exit",
	"quick_exit",
	"rest_init",
	"rewind_stack_and_make_dead",
	"rust_begin_unwind",
	"rust_panic",
	"sev_es_terminate",
	"siglongjmp",
	"snp_abort",
	"stop_this_cpu",
	"thrd_exit",
	"usercopy_abort",
	"verr",
	"verrc",
	"verrx",
	"vpanic",
	"x86_64_start_kernel",
	"x86_64_start_reservations",
	"xen_cpu_bringup_again",
	"xen_start_kernel",
};

/* Beginnings of names that end in a hash or a signature. */
static const char *const beginnings[] = {
	"_ZNSt3__120__throw_",
	"_ZN4core9panicking",
	"_ZN4core6result13unwrap_failed",
	"_ZN4core6option13unwrap_failed",
	"_ZN4core6option13expect_failed",
	"_ZN4core4cell22panic_already",
	"_ZN4core5slice5index26slice_start_index_len_fail",
	"_ZN4core5slice5index24slice_end_index_len_fail",
	"_ZN4core5slice5index22slice_index_order_fail",
	"_ZN4core5slice5index31slice_start_index_overflow_fail",
	"_ZN4core5slice5index29slice_end_index_overflow_fail",
	"_ZN4core3str16slice_error_fail",
	"_ZN3std9panicking11begin_panic",
	"_ZN3std9panicking20rust_panic_with_hook",
	"_ZN3std7process4exit",
	"_ZN3std7process5abort",
	"_ZN5alloc5alloc18handle_alloc_error",
	"_ZN5alloc7raw_vec12handle_error",
	"_ZN5alloc7raw_vec17capacity_overflow",
};

/* The name without its version and "@plt". */
static struct span base_name(struct span name)
{
	const char *at = name.size ? memchr(name.data, '@', name.size) : NULL;
	return at ? (struct span){ name.data, (size_t)(at - (const char *)name.data) } : name;
}

static int compare_name(const void *key, const void *row)
{
	const struct span *name = key;
	return span_compare(*name, span_of_text(*(const char *const *)row));
}

/* std::__throw_bad_alloc() and the like: "_ZSt", the length of a name, the name. */
static bool is_throw(struct span name)
{
	const char *text = name.data;
	size_t at = 4;
	if (!span_starts_with(name, "_ZSt"))
		return false;
	while (at < name.size && text[at] >= '0' && text[at] <= '9')
		at++;
	return at > 4 && span_starts_with((struct span){ text + at, name.size - at }, "__throw_");
}

/* Rust's newer mangling: _RNv, then a path that ends in core's panicking and a name. */
static bool is_rust_panic(struct span name)
{
	static const char path[] = "_4core9panicking";
	return span_starts_with(name, "_RNvNt") &&
	       memmem(name.data, name.size, path, sizeof(path) - 1) != NULL;
}

bool cfg_is_no_return(struct span name)
{
	name = base_name(name);
	if (!name.size)
		return false;
	if (bsearch(&name, names, COUNT_OF(names), sizeof(names[0]), compare_name))
		return true;
	for (size_t i = 0; i < COUNT_OF(beginnings); i++)
		if (span_starts_with(name, beginnings[i]))
			return true;
	return is_throw(name) || is_rust_panic(name);
}
