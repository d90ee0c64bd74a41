"""The paper's audits, rebuilt: what was audited, how it was read, and the audit itself."""
