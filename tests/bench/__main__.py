"""Run every benchmark: `make bench`. Figures to look at; nothing here fails on a time."""

from tests.bench import bench_audit, bench_block, bench_pages, bench_step

if __name__ == "__main__":
    bench_step.main()
    bench_block.main()
    bench_audit.main()
    bench_pages.main()
