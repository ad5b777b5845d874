-- A database of schema 0016 with a record in every table, as sqlite3's .dump writes it.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0016');
CREATE TABLE booking (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	run_id INTEGER NOT NULL, 
	trial_number INTEGER NOT NULL, 
	repetition INTEGER NOT NULL, 
	job JSON NOT NULL, 
	state VARCHAR(32) NOT NULL, 
	token INTEGER NOT NULL, 
	host_id INTEGER, 
	lease_until DATETIME, 
	result BLOB, 
	committed_at DATETIME, 
	CONSTRAINT fk_booking_run_id_run FOREIGN KEY(run_id) REFERENCES run (id), 
	CONSTRAINT fk_booking_host_id_host FOREIGN KEY(host_id) REFERENCES host (id), 
	CONSTRAINT uq_booking_run_id_trial_number_repetition UNIQUE (run_id, trial_number, repetition), 
	CONSTRAINT ck_booking_state CHECK (state IN ('free', 'booked', 'committed'))
);
INSERT INTO "booking" VALUES(1,1,1,1,'{"target": "core"}','committed',1,1,NULL,X'7801AB562A4B2D4AC94C2E51B202B132D3325353946A015BF807FA','2026-11-23 21:38:15.753965');
INSERT INTO "booking" VALUES(2,1,1,2,'{"target": "core"}','free',0,NULL,NULL,NULL,NULL);
CREATE TABLE "counter_sample" (
	id INTEGER NOT NULL, 
	host_id INTEGER NOT NULL, 
	taken_at DATETIME NOT NULL, 
	run_id INTEGER, 
	trial_number INTEGER, 
	step_s INTEGER DEFAULT '1' NOT NULL, 
	"values" BLOB NOT NULL, 
	CONSTRAINT pk_counter_sample PRIMARY KEY (id), 
	CONSTRAINT fk_counter_sample_host_id_host FOREIGN KEY(host_id) REFERENCES host (id), 
	CONSTRAINT fk_counter_sample_run_id_run FOREIGN KEY(run_id) REFERENCES run (id)
);
INSERT INTO "counter_sample" VALUES(1,1,'2026-11-21 09:31:56.200732',1,1,1,X'7801AB564A2E2855B2AAAEAD0500136A03B7');
CREATE TABLE event (
	id INTEGER NOT NULL, 
	run_id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	level VARCHAR NOT NULL, 
	message VARCHAR NOT NULL, 
	data JSON NOT NULL, 
	CONSTRAINT pk_event PRIMARY KEY (id), 
	CONSTRAINT fk_event_run_id_run FOREIGN KEY(run_id) REFERENCES run (id)
);
INSERT INTO "event" VALUES(1,1,'2026-11-21 09:31:56.199321','info','an old event','{}');
CREATE TABLE export (
	id INTEGER NOT NULL, 
	run_id INTEGER NOT NULL, 
	format VARCHAR NOT NULL, 
	file_name VARCHAR NOT NULL, 
	text VARCHAR NOT NULL, 
	check_command VARCHAR NOT NULL, 
	check_ok BOOLEAN NOT NULL, 
	check_output VARCHAR NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_export PRIMARY KEY (id), 
	CONSTRAINT fk_export_run_id_run FOREIGN KEY(run_id) REFERENCES run (id), 
	CONSTRAINT uq_export_run_id_format UNIQUE (run_id, format)
);
INSERT INTO "export" VALUES(1,1,'nginx','nginx.conf','worker_processes 2;
','nginx -t',1,'ok','2026-11-21 09:31:56.201912');
CREATE TABLE "host" (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	kernel VARCHAR NOT NULL, 
	cpu_model VARCHAR NOT NULL, 
	cpus INTEGER NOT NULL, 
	memory_bytes BIGINT NOT NULL, 
	topology JSON NOT NULL, 
	seen_at DATETIME NOT NULL, 
	machine_id VARCHAR NOT NULL, 
	CONSTRAINT pk_host PRIMARY KEY (id), 
	CONSTRAINT uq_host_machine_id_name_kernel_cpu_model_cpus_memory_bytes UNIQUE (machine_id, name, kernel, cpu_model, cpus, memory_bytes)
);
INSERT INTO "host" VALUES(1,'bench','6.18.0','a processor',2,8589934592,'{"nodes": [{"node": 0, "cpus": [0, 1]}]}','2026-11-21 09:31:56.159667','0123456789abcdef0123456789abcdef');
CREATE TABLE live_decision (
	id INTEGER NOT NULL, 
	session_id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	kind VARCHAR NOT NULL, 
	sentence VARCHAR NOT NULL, 
	share DOUBLE NOT NULL, 
	configuration JSON, 
	evidence JSON NOT NULL, 
	CONSTRAINT pk_live_decision PRIMARY KEY (id), 
	CONSTRAINT fk_live_decision_session_id_live_session FOREIGN KEY(session_id) REFERENCES live_session (id)
);
INSERT INTO "live_decision" VALUES(1,1,'2026-11-23 12:05:00.000000','proposal','an old proposal',0.0,'{"workers": [1, 2]}','{"runs": [1]}');
CREATE TABLE live_incumbents (
	id INTEGER NOT NULL, 
	host_id INTEGER NOT NULL, 
	target VARCHAR NOT NULL, 
	file VARCHAR NOT NULL, 
	document JSON NOT NULL, 
	CONSTRAINT pk_live_incumbents PRIMARY KEY (id), 
	CONSTRAINT fk_live_incumbents_host_id_host FOREIGN KEY(host_id) REFERENCES host (id), 
	CONSTRAINT uq_live_incumbents_host_id_target_file UNIQUE (host_id, target, file)
);
INSERT INTO "live_incumbents" VALUES(1,1,'nginx','/etc/nginx/nginx.conf','{"contexts": []}');
CREATE TABLE live_sample (
	id INTEGER NOT NULL, 
	session_id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_live_sample PRIMARY KEY (id), 
	CONSTRAINT fk_live_sample_session_id_live_session FOREIGN KEY(session_id) REFERENCES live_session (id)
);
INSERT INTO "live_sample" VALUES(1,1,'2026-11-23 12:05:00.000000',X'7801AB562ACE482C4A55B232D03330AD050022BB044D');
CREATE TABLE live_session (
	id INTEGER NOT NULL, 
	host_id INTEGER NOT NULL, 
	target VARCHAR NOT NULL, 
	pid INTEGER NOT NULL, 
	addresses JSON NOT NULL, 
	unit VARCHAR NOT NULL, 
	file VARCHAR NOT NULL, 
	mode VARCHAR(32) NOT NULL, 
	settings JSON NOT NULL, 
	process INTEGER NOT NULL, 
	state VARCHAR(32) NOT NULL, 
	sentence VARCHAR NOT NULL, 
	share DOUBLE NOT NULL, 
	context JSON, 
	asked VARCHAR, 
	started_at DATETIME NOT NULL, 
	seen_at DATETIME NOT NULL, 
	ended_at DATETIME, process_started BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_live_session PRIMARY KEY (id), 
	CONSTRAINT fk_live_session_host_id_host FOREIGN KEY(host_id) REFERENCES host (id), 
	CONSTRAINT ck_live_session_mode CHECK (mode IN ('advise', 'canary', 'auto')), 
	CONSTRAINT ck_live_session_state CHECK (state IN ('observing', 'episode', 'waiting-for-a-person', 'promoting', 'watching', 'ended'))
);
INSERT INTO "live_session" VALUES(1,1,'nginx',812,'["127.0.0.1:80"]','nginx.service','/etc/nginx/nginx.conf','advise','{"objective": "cost"}',900,'ended','It is over.',0.0,'{"rate_rps": 120.0}',NULL,'2026-11-23 12:00:00.000000','2026-11-23 12:10:00.000000','2026-11-23 12:10:00.000000',0);
CREATE TABLE measurement (
	id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	rate_rps DOUBLE NOT NULL, 
	duration_s DOUBLE NOT NULL, 
	warmup_s DOUBLE NOT NULL, 
	elapsed_s DOUBLE NOT NULL, 
	goodput_mbps DOUBLE NOT NULL, 
	reply_rate_rps DOUBLE NOT NULL, 
	bytes_received BIGINT NOT NULL, 
	sessions_offered BIGINT NOT NULL, 
	sessions_started BIGINT NOT NULL, 
	sessions_completed BIGINT NOT NULL, 
	sessions_timed_out_connect BIGINT NOT NULL, 
	sessions_timed_out BIGINT NOT NULL, 
	sessions_failed BIGINT NOT NULL, 
	sessions_dropped BIGINT NOT NULL, 
	requests_offered BIGINT NOT NULL, 
	requests_replied BIGINT NOT NULL, 
	requests_timed_out_before_read BIGINT NOT NULL, 
	requests_timed_out_after_read BIGINT NOT NULL, 
	requests_failed BIGINT NOT NULL, 
	requests_abandoned BIGINT NOT NULL, 
	requests_dropped BIGINT NOT NULL, 
	connect_p50_us DOUBLE, 
	connect_p90_us DOUBLE, 
	connect_p99_us DOUBLE, 
	connect_p999_us DOUBLE, 
	connect_max_us DOUBLE, 
	connect_mean_us DOUBLE, 
	first_byte_p50_us DOUBLE, 
	first_byte_p90_us DOUBLE, 
	first_byte_p99_us DOUBLE, 
	first_byte_p999_us DOUBLE, 
	first_byte_max_us DOUBLE, 
	first_byte_mean_us DOUBLE, 
	reply_p50_us DOUBLE, 
	reply_p90_us DOUBLE, 
	reply_p99_us DOUBLE, 
	reply_p999_us DOUBLE, 
	reply_max_us DOUBLE, 
	reply_mean_us DOUBLE, 
	failures JSON NOT NULL, 
	health JSON NOT NULL, 
	server_stats JSON NOT NULL, 
	counters JSON NOT NULL, 
	generator_limited BOOLEAN NOT NULL, held BOOLEAN DEFAULT 1 NOT NULL, due_rate_rps DOUBLE, 
	CONSTRAINT pk_measurement PRIMARY KEY (id), 
	CONSTRAINT fk_measurement_trial_id_trial FOREIGN KEY(trial_id) REFERENCES trial (id), 
	CONSTRAINT uq_measurement_trial_id_number UNIQUE (trial_id, number)
);
INSERT INTO "measurement" VALUES(1,1,1,1000.0,2.0,0.5,2.7,93.25,990.5,1099511627776,274,274,270,1,2,1,0,2000,1980,6,9,1,4,0,20.0,31.0,88.0,190.0,240.0,25.5,NULL,NULL,NULL,NULL,NULL,NULL,300.0,810.0,2100.0,9800.0,12000.0,420.25,'{"reset": 1}','{"verdict": "ok", "reasons": []}','{"requests": 1981}','{"cpu": {"total": {"user": 12.5}}}',0,1,NULL);
INSERT INTO "measurement" VALUES(2,1,2,2000.0,2.0,0.5,2.7,93.25,990.5,1099511627776,274,274,270,1,2,1,0,2000,1980,6,9,1,4,0,20.0,31.0,88.0,190.0,240.0,25.5,NULL,NULL,NULL,NULL,NULL,NULL,300.0,810.0,2100.0,9800.0,12000.0,420.25,'{"reset": 1}','{"verdict": "ok", "reasons": []}','{"requests": 1981}','{"cpu": {"total": {"user": 12.5}}}',0,1,NULL);
INSERT INTO "measurement" VALUES(3,2,1,1000.0,2.0,0.5,2.7,93.25,990.5,1099511627776,274,274,270,1,2,1,0,2000,1980,6,9,1,4,0,20.0,31.0,88.0,190.0,240.0,25.5,NULL,NULL,NULL,NULL,NULL,NULL,300.0,810.0,2100.0,9800.0,12000.0,420.25,'{"reset": 1}','{"verdict": "ok", "reasons": []}','{"requests": 1981}','{"cpu": {"total": {"user": 12.5}}}',0,1,NULL);
INSERT INTO "measurement" VALUES(4,2,2,2000.0,2.0,0.5,2.7,93.25,990.5,1099511627776,274,274,270,1,2,1,0,2000,1980,6,9,1,4,0,20.0,31.0,88.0,190.0,240.0,25.5,NULL,NULL,NULL,NULL,NULL,NULL,300.0,810.0,2100.0,9800.0,12000.0,420.25,'{"reset": 1}','{"verdict": "ok", "reasons": []}','{"requests": 1981}','{"cpu": {"total": {"user": 12.5}}}',0,1,NULL);
CREATE TABLE "os_change" (
	id INTEGER NOT NULL, 
	run_id INTEGER, 
	path VARCHAR NOT NULL, 
	value_before VARCHAR NOT NULL, 
	value_after VARCHAR NOT NULL, 
	recorded_at DATETIME NOT NULL, 
	applied_at DATETIME, 
	restored_at DATETIME, 
	boot_id VARCHAR DEFAULT ('') NOT NULL, 
	host_id INTEGER NOT NULL, 
	by_hand BOOLEAN NOT NULL, 
	CONSTRAINT pk_os_change PRIMARY KEY (id), 
	CONSTRAINT fk_os_change_run_id_run FOREIGN KEY(run_id) REFERENCES run (id), 
	CONSTRAINT fk_os_change_host_id_host FOREIGN KEY(host_id) REFERENCES host (id)
);
INSERT INTO "os_change" VALUES(1,1,'/proc/irq/24/smp_affinity','3','1','2026-11-21 09:31:56.204313',NULL,NULL,'',1,0);
CREATE TABLE proposal (
	id INTEGER NOT NULL, 
	run_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	configuration JSON NOT NULL, 
	configuration_hash VARCHAR NOT NULL, 
	level INTEGER NOT NULL, 
	reason VARCHAR NOT NULL, 
	asked_at DATETIME NOT NULL, 
	trial_id INTEGER, 
	CONSTRAINT pk_proposal PRIMARY KEY (id), 
	CONSTRAINT fk_proposal_run_id_run FOREIGN KEY(run_id) REFERENCES run (id), 
	CONSTRAINT fk_proposal_trial_id_trial FOREIGN KEY(trial_id) REFERENCES trial (id), 
	CONSTRAINT uq_proposal_run_id_number UNIQUE (run_id, number), 
	CONSTRAINT uq_proposal_trial_id UNIQUE (trial_id)
);
INSERT INTO "proposal" VALUES(1,1,1,'{"workers": 1}','000000000001',0,'an old reason','2026-11-21 09:31:56.173065',1);
INSERT INTO "proposal" VALUES(2,1,2,'{"workers": 2}','000000000002',1,'an old reason','2026-11-21 09:31:56.187774',2);
CREATE TABLE "run" (
	id INTEGER NOT NULL, 
	host_id INTEGER NOT NULL, 
	target_id INTEGER NOT NULL, 
	workload_id INTEGER NOT NULL, 
	preset VARCHAR NOT NULL, 
	strategy VARCHAR NOT NULL, 
	objective VARCHAR NOT NULL, 
	space JSON NOT NULL, 
	settings JSON NOT NULL, 
	seed BIGINT NOT NULL, 
	budget_trials INTEGER NOT NULL, 
	layout JSON NOT NULL, 
	ladder JSON NOT NULL, 
	state VARCHAR(32) NOT NULL, 
	phase VARCHAR(32) NOT NULL, 
	error VARCHAR NOT NULL, 
	notes VARCHAR NOT NULL, 
	created_at DATETIME NOT NULL, 
	started_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	outcome JSON, 
	tags JSON DEFAULT '[]' NOT NULL, 
	base JSON DEFAULT '{}' NOT NULL, 
	second_objective VARCHAR, 
	name VARCHAR DEFAULT ('') NOT NULL, 
	archived BOOLEAN DEFAULT 0 NOT NULL, 
	fleet JSON, 
	CONSTRAINT pk_run PRIMARY KEY (id), 
	CONSTRAINT fk_run_target_id_target FOREIGN KEY(target_id) REFERENCES target (id), 
	CONSTRAINT fk_run_host_id_host FOREIGN KEY(host_id) REFERENCES host (id), 
	CONSTRAINT fk_run_workload_id_workload FOREIGN KEY(workload_id) REFERENCES workload (id), 
	CONSTRAINT ck_run_state CHECK (state IN ('running', 'finished', 'stopped', 'failed', 'interrupted')), 
	CONSTRAINT ck_run_phase CHECK (phase IN ('preparing', 'calibrating', 'searching', 'eliminating', 'confirming', 'exporting', 'done'))
);
INSERT INTO "run" VALUES(1,1,1,1,'quick','coarse-to-fine','condensed-area','{"knobs": []}','{"ladder_points": 4}',1,16,'{"server": [0], "generator": [1]}','[1000.0, 2000.0]','finished','done','','an old note','2026-11-21 09:31:56.166120','2026-11-21 09:31:56.166120','2026-11-21 09:31:56.209397','{"sentence": "An old outcome."}','["old"]','{}',NULL,'an old name',0,NULL);
CREATE TABLE size_class_result (
	id INTEGER NOT NULL, 
	measurement_id INTEGER NOT NULL, 
	size_bytes BIGINT NOT NULL, 
	asked BIGINT NOT NULL, 
	replied BIGINT NOT NULL, 
	timed_out_before_read BIGINT NOT NULL, 
	timed_out_after_read BIGINT NOT NULL, 
	failed BIGINT NOT NULL, 
	abandoned BIGINT NOT NULL, 
	CONSTRAINT pk_size_class_result PRIMARY KEY (id), 
	CONSTRAINT fk_size_class_result_measurement_id_measurement FOREIGN KEY(measurement_id) REFERENCES measurement (id), 
	CONSTRAINT uq_size_class_result_measurement_id_size_bytes UNIQUE (measurement_id, size_bytes)
);
INSERT INTO "size_class_result" VALUES(1,1,102,1000,990,3,4,1,2);
INSERT INTO "size_class_result" VALUES(2,1,921600,1000,990,3,5,0,2);
INSERT INTO "size_class_result" VALUES(3,2,102,1000,990,3,4,1,2);
INSERT INTO "size_class_result" VALUES(4,2,921600,1000,990,3,5,0,2);
INSERT INTO "size_class_result" VALUES(5,3,102,1000,990,3,4,1,2);
INSERT INTO "size_class_result" VALUES(6,3,921600,1000,990,3,5,0,2);
INSERT INTO "size_class_result" VALUES(7,4,102,1000,990,3,4,1,2);
INSERT INTO "size_class_result" VALUES(8,4,921600,1000,990,3,5,0,2);
CREATE TABLE station (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	role VARCHAR(32) NOT NULL, 
	state VARCHAR(32) NOT NULL, 
	host_id INTEGER NOT NULL, 
	address VARCHAR NOT NULL, 
	facts JSON NOT NULL, 
	settled BOOLEAN NOT NULL, 
	booking_id INTEGER, 
	booked_until DATETIME, 
	joined_at DATETIME NOT NULL, 
	CONSTRAINT pk_station PRIMARY KEY (id), 
	CONSTRAINT fk_station_host_id_host FOREIGN KEY(host_id) REFERENCES host (id), 
	CONSTRAINT fk_station_booking_id_booking FOREIGN KEY(booking_id) REFERENCES booking (id), 
	CONSTRAINT uq_station_name UNIQUE (name), 
	CONSTRAINT ck_station_role CHECK (role IN ('server', 'generator')), 
	CONSTRAINT ck_station_state CHECK (state IN ('ready', 'draining', 'left'))
);
INSERT INTO "station" VALUES(1,'web1','server','ready',1,'tls://10.0.0.1:4000','{"kernel": "6.18.0"}',1,NULL,NULL,'2026-11-26 11:39:52.417807');
CREATE TABLE target (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	version VARCHAR NOT NULL, 
	CONSTRAINT pk_target PRIMARY KEY (id), 
	CONSTRAINT uq_target_name_version UNIQUE (name, version)
);
INSERT INTO "target" VALUES(1,'core','0.1.0');
CREATE TABLE "trial" (
	id INTEGER NOT NULL, 
	run_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	purpose VARCHAR(32) NOT NULL, 
	level INTEGER NOT NULL, 
	block INTEGER NOT NULL, 
	configuration JSON NOT NULL, 
	configuration_hash VARCHAR NOT NULL, 
	verdict VARCHAR NOT NULL, 
	reason VARCHAR NOT NULL, 
	score DOUBLE, 
	server_config VARCHAR NOT NULL, 
	started_at DATETIME NOT NULL, 
	finished_at DATETIME NOT NULL, 
	second_score DOUBLE, 
	estimated_score DOUBLE, 
	host_id INTEGER NOT NULL, 
	CONSTRAINT pk_trial PRIMARY KEY (id), 
	CONSTRAINT uq_trial_run_id_number UNIQUE (run_id, number), 
	CONSTRAINT fk_trial_run_id_run FOREIGN KEY(run_id) REFERENCES run (id), 
	CONSTRAINT fk_trial_host_id_host FOREIGN KEY(host_id) REFERENCES host (id), 
	CONSTRAINT ck_trial_purpose CHECK (purpose IN ('calibration', 'search', 'elimination', 'confirmation'))
);
INSERT INTO "trial" VALUES(1,1,1,'search',1,0,'{"workers": 1, "sendfile": "nonblocking"}','000000000001','verified','',91.0,'[server]
workers = 1
','2026-11-21 12:00:01.000000','2026-11-21 12:00:02.000000',NULL,NULL,1);
INSERT INTO "trial" VALUES(2,1,2,'search',1,0,'{"workers": 2, "sendfile": "nonblocking"}','000000000002','verified','',92.0,'[server]
workers = 1
','2026-11-21 12:00:02.000000','2026-11-21 12:00:03.000000',NULL,NULL,1);
CREATE TABLE workload (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	parameters JSON NOT NULL, 
	parameters_hash VARCHAR NOT NULL, 
	files INTEGER NOT NULL, 
	bytes BIGINT NOT NULL, 
	CONSTRAINT pk_workload PRIMARY KEY (id), 
	CONSTRAINT uq_workload_name_parameters_hash UNIQUE (name, parameters_hash)
);
INSERT INTO "workload" VALUES(1,'specweb99','{"directories": 10}','53e81f6fd301',360,51235800);
CREATE INDEX ix_event_run_id_at ON event (run_id, at);
CREATE INDEX ix_counter_sample_run_id_trial_number_taken_at ON counter_sample (run_id, trial_number, taken_at);
CREATE INDEX ix_counter_sample_host_id_step_s_taken_at ON counter_sample (host_id, step_s, taken_at);
CREATE INDEX ix_os_change_restored_at ON os_change (restored_at);
CREATE INDEX ix_live_session_host_id ON live_session (host_id);
CREATE INDEX ix_live_decision_session_id ON live_decision (session_id);
CREATE INDEX ix_live_sample_session_id_at ON live_sample (session_id, at);
CREATE INDEX ix_booking_run_id_state ON booking (run_id, state);
CREATE INDEX ix_station_booking_id ON station (booking_id);
CREATE INDEX ix_run_state ON run (state);
CREATE INDEX ix_trial_run_id_purpose_score ON trial (run_id, purpose, score);
CREATE INDEX ix_trial_run_id_configuration_hash ON trial (run_id, configuration_hash);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('booking',2);
COMMIT;
