//! Reads what SYNCEDMEM_TRACE wrote.
